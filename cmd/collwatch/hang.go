package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/collwatch/collwatch/internal/flightrec"
)

func hangCommand(app *kingpin.Application) (string, action) {
	cmd := app.Command("hang", "Read PyTorch NCCL flight-recorder dumps of a hung job and name the ranks that everybody waits for.")
	paths := cmd.Arg("dump", "Dumps of all ranks, pickle or JSON, also packed with gzip, or folders of them. The rank is the number after \"rank\" in the file's name, or the last one.").Required().ExistingFilesOrDirs()
	format := cmd.Flag("format", "text or json.").Default("text").Enum("text", "json")
	return cmd.FullCommand(), func(_ context.Context, e *env) error {
		dumps, err := readDumps(*paths)
		if err != nil && len(dumps) == 0 {
			return err
		}
		if err != nil {
			fmt.Fprintf(e.stderr, "%v\nthe rest is judged without them: their ranks count as absent\n", err)
		}
		r, err := flightrec.Analyse(dumps)
		if err != nil {
			return fmt.Errorf("hang: %w", err)
		}
		if *format == "json" {
			enc := json.NewEncoder(e.stdout)
			enc.SetIndent("", "  ")
			return enc.Encode(hangJSON(r))
		}
		printHang(e.stdout, r)
		return nil
	}
}

// hangReport is the JSON form.
type hangReport struct {
	Suspects  []int            `json:"suspects"`
	WaitedBy  map[string][]int `json:"waited_by"`
	Masked    []int            `json:"masked"`
	NotExited []int            `json:"not_exited"`
	Cycle     []int            `json:"cycle"`
	Alike     bool             `json:"all_alike"`
	Differ    []hangMismatch   `json:"signature_mismatch"`
	Absent    []int            `json:"absent"`
	Older     []int            `json:"of_earlier_run"`
	Peers     map[string][]int `json:"waits_for_peer"`
	Ranks     int              `json:"ranks"`
	Group     string           `json:"group"`
	Operation string           `json:"operation"`
	Sequence  int64            `json:"sequence"`
}

type hangMismatch struct {
	Group      string           `json:"group"`
	Sequence   int64            `json:"sequence"`
	Signatures map[string][]int `json:"signatures"`
	Suspects   []int            `json:"suspects"`
}

func hangJSON(r *flightrec.Report) hangReport {
	out := hangReport{
		Suspects: orEmpty(r.Roots), WaitedBy: map[string][]int{}, Masked: orEmpty(r.Masked), NotExited: orEmpty(r.NotExited),
		Cycle: orEmpty(r.Cycle), Alike: r.Alike, Differ: []hangMismatch{}, Absent: orEmpty(r.Absent), Older: orEmpty(r.Older), Ranks: len(r.Ranks),
		Group: groupName(r), Operation: r.Op, Sequence: r.Seq, Peers: map[string][]int{},
	}
	for rank, peers := range r.Peers {
		out.Peers[strconv.Itoa(rank)] = peers
	}
	for root, waiting := range r.WaitedBy {
		out.WaitedBy[strconv.Itoa(root)] = waiting
	}
	for _, m := range r.Mismatches {
		out.Differ = append(out.Differ, hangMismatch{m.Group, m.Seq, m.Signatures, orEmpty(m.Ranks)})
	}
	return out
}

func orEmpty(ranks []int) []int {
	if ranks == nil {
		return []int{}
	}
	return ranks
}

func groupName(r *flightrec.Report) string {
	if r.Desc != "" {
		return r.Desc
	}
	return r.Group
}

func printHang(w io.Writer, r *flightrec.Report) {
	line := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	line("%s with a dump.", count(len(r.Ranks), "rank"))
	switch {
	case len(r.Mismatches) > 0:
		for _, m := range r.Mismatches {
			line("Ranks of group %s do not agree on operation %d:", m.Group, m.Seq)
			for _, sig := range slices.Sorted(maps.Keys(m.Signatures)) {
				line("  %s  by ranks %s", sig, ranges(m.Signatures[sig]))
			}
			if len(m.Ranks) > 0 {
				line("Look at ranks %s first: they differ from the majority.", ranges(m.Ranks))
			}
		}
	case len(r.Roots) > 0:
		line("The job waits for %s: not entered %s, operation %d of group %s.", plural(r.Roots), orUnknown(r.Op), r.Seq, groupName(r))
		for _, root := range r.Roots {
			line("  rank %d is waited for by %s", root, some(r.WaitedBy[root]))
		}
	case len(r.Cycle) > 0:
		line("Ranks %s wait for each other: the order of their operations differs. No rank is missing, no host is suspect.", ranges(r.Cycle))
	case len(r.NotExited) > 0:
		line("Others finished %s, operation %d of group %s, and %s did not.", orUnknown(r.Op), r.Seq, groupName(r), plural(r.NotExited))
	case r.Alike:
		line("All ranks are at the same operation and none progresses: the dumps name nobody. Look at the network.")
	case len(r.Absent) > 0:
		line("The dumps name nobody: get those of the other ranks.")
	case len(r.Waiting) > 0:
		line("Ranks wait, and the dumps name nobody.")
	default:
		line("No rank waits for another: the dumps show no hang.")
	}
	if len(r.Masked) > 0 {
		line("Behind, but waiting or stuck as well: %s. Whether they failed cannot be told.", plural(r.Masked))
	}
	if len(r.Roots) == 0 && len(r.Mismatches) == 0 {
		printPeers(line, r.Peers)
	}
	if len(r.Older) > 0 {
		line("The dump of %s is more than an hour older than the hang, of an earlier run it seems: not used.", plural(r.Older))
	}
	if len(r.Absent) > 0 {
		line("No dump of %s: a rank that could not write one may be the cause.", plural(r.Absent))
	}
}

// maxPeers bounds the lines about sends and receives.
const maxPeers = 16

func printPeers(line func(string, ...any), peers map[int][]int) {
	for i, rank := range slices.Sorted(maps.Keys(peers)) {
		if i == maxPeers {
			line("  and %d ranks more wait in a send or receive", len(peers)-maxPeers)
			break
		}
		line("  rank %d waits in a send or receive for %s, of which the other side is not there: not begun, or finished", rank, plural(peers[rank]))
	}
}

// some shortens long lists of ranks that lie apart.
func some(n []int) string {
	text := plural(n)
	if parts := strings.Split(text, ","); len(parts) > maxPeers {
		return fmt.Sprintf("%s and more, %d in all", strings.Join(parts[:maxPeers], ","), len(n))
	}
	return text
}

func count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func orUnknown(s string) string {
	if s == "" {
		return "an unknown operation"
	}
	return s
}

// plural names ranks: "rank 3", "ranks 0-3,7".
func plural(ranks []int) string {
	if len(ranks) == 1 {
		return fmt.Sprintf("rank %d", ranks[0])
	}
	return "ranks " + ranges(ranks)
}

// ranges writes sorted numbers in short form: 0-3,7.
func ranges(n []int) string {
	var parts []string
	for i := 0; i < len(n); {
		j := i
		for j+1 < len(n) && n[j+1] == n[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, strconv.Itoa(n[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", n[i], n[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}
