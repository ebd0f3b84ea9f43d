package flightrec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Dump is what one rank's recorder holds.
type Dump struct {
	Version, NCCLVersion string
	// Rank is the global rank, -1 if neither the caller nor the dump tells.
	Rank    int
	Groups  []Group
	Entries []Entry
}

// Group is a process group of the rank.
type Group struct {
	// ID is the local number that entries and counters use, -1 unknown; Name
	// is the same on all ranks.
	ID         int
	Name, Desc string
	Ranks      []int
	// Last operations, -1 unknown.
	Enqueued, Started, Completed int64
}

// Entry is one operation.
type Entry struct {
	GroupID     int
	Group, Desc string
	Seq         int64 // of collectives
	P2PSeq      int64
	Op          string // "all_to_all", "send 0->3"
	State       string // scheduled, started, completed
	Signature   string // what has to be equal on all members, see signature
	Created     time.Time
	Timeout     time.Duration
	P2P         bool
	Retired     bool
}

// pickleProto is the first byte of every pickle since protocol 2, which is what
// PyTorch writes.
const pickleProto = 0x80

// Writers are the ranks that may have written the dump: a recorder lists the
// groups of its own rank only. Nil if no group has known members.
func (d *Dump) Writers() []int {
	var out []int
	for _, g := range d.Groups {
		switch {
		case len(g.Ranks) == 0:
		case out == nil:
			out = slices.Clone(g.Ranks)
		default:
			in := map[int]bool{}
			for _, r := range g.Ranks {
				in[r] = true
			}
			out = slices.DeleteFunc(out, func(r int) bool { return !in[r] })
		}
	}
	slices.Sort(out)
	return out
}

// Decode reads a dump: a pickle, or the same content as JSON.
func Decode(b []byte) (*Dump, error) {
	v, err := decode(b)
	if err != nil {
		return nil, err
	}
	root, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("a flight-recorder dump is a dict, this is %T", v)
	}
	return read(root)
}

func decode(b []byte) (any, error) {
	trimmed := bytes.TrimLeft(b, " \t\r\n")
	if len(trimmed) == 0 {
		return nil, errors.New("the dump is empty")
	}
	if trimmed[0] != '{' {
		v, err := decodePickle(b)
		switch {
		case err != nil && b[0] != pickleProto:
			return nil, errors.New("neither a pickle nor JSON: no flight-recorder dump")
		case err != nil:
			return nil, fmt.Errorf("read pickle: %w", err)
		}
		return v, nil
	}
	if len(b) > maxBytes {
		return nil, fmt.Errorf("dump of %d bytes is larger than the limit of %d", len(b), maxBytes)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber() // times are above 2^53
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read JSON: something follows the dump")
	}
	return v, nil
}

// read takes the fields of a dump. Fields that are missing are unknown; only a
// dump without any group or entry is an error.
func read(root map[string]any) (*Dump, error) {
	d := &Dump{Version: str(root["version"]), NCCLVersion: str(root["nccl_version"]), Rank: -1}
	if r, ok := whole(root["rank"]); ok && r >= 0 && r < math.MaxInt32 {
		d.Rank = int(r)
	}
	for _, item := range items(root["entries"]) {
		if m, ok := item.(map[string]any); ok {
			d.Entries = append(d.Entries, readEntry(m))
		}
	}
	d.Groups = readGroups(root, d.Entries)
	if len(d.Groups) == 0 && len(d.Entries) == 0 {
		return nil, errors.New("the dump has neither groups nor entries: is it a flight-recorder dump?")
	}
	return d, nil
}

func readEntry(m map[string]any) Entry {
	e := Entry{
		GroupID: int(wholeOr(m["pg_id"], -1)), Seq: wholeOr(m["collective_seq_id"], -1), P2PSeq: wholeOr(m["p2p_seq_id"], -1),
		Op: strings.TrimPrefix(str(m["profiling_name"]), "nccl:"), State: str(m["state"]),
		Timeout: time.Duration(clampMillis(wholeOr(m["timeout_ms"], 0))) * time.Millisecond,
	}
	if ns := wholeOr(m["time_created_ns"], 0); ns > 0 {
		e.Created = time.Unix(0, ns)
	}
	e.P2P, _ = m["is_p2p"].(bool)
	e.Retired, _ = m["retired"].(bool)
	if pg := items(m["process_group"]); len(pg) > 0 {
		e.Group = str(pg[0])
		if len(pg) > 1 {
			e.Desc = str(pg[1])
		}
	}
	e.Signature = signature(e.Op, m)
	return e
}

func clampMillis(ms int64) int64 { return min(max(ms, 0), math.MaxInt64/int64(time.Millisecond)) }

// signature is what has to be equal on all members of a group: the operation
// and the type of the data, and its size where the operation demands that. In
// an all-to-all every rank sends what it has; in scatter, gather and broadcast
// only the root's sizes count.
func signature(op string, m map[string]any) string {
	parts := []string{op}
	for _, t := range items(m["input_dtypes"]) {
		parts = append(parts, str(t))
	}
	switch {
	case strings.HasPrefix(op, "all_reduce"), strings.HasPrefix(op, "_all_gather_base"), strings.HasPrefix(op, "_reduce_scatter_base"):
		for _, shape := range items(m["input_sizes"]) {
			n := 1.0
			for _, side := range items(shape) {
				v, _ := whole(side)
				n *= float64(v)
			}
			parts = append(parts, strconv.FormatFloat(n, 'f', 0, 64))
		}
	}
	return strings.Join(parts, " ")
}

// str is a string, or a number as text.
func str(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case json.Number:
		return x.String()
	case int64:
		return strconv.FormatInt(x, 10)
	}
	return ""
}

func items(v any) []any {
	x, _ := v.([]any)
	return x
}

// whole is a whole number.
func whole(v any) (int64, bool) {
	switch x := v.(type) {
	case int64:
		return x, true
	case json.Number:
		n, err := x.Int64()
		return n, err == nil
	case string:
		n, err := strconv.ParseInt(x, 10, 64)
		return n, err == nil
	}
	return 0, false
}

func wholeOr(v any, or int64) int64 {
	if n, ok := whole(v); ok {
		return n
	}
	return or
}
