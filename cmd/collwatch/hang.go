package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/collwatch/collwatch/internal/flightrec"
)

// maxDump bounds one dump: a recorder with 100,000 entries writes less.
const maxDump = 256 << 20

func hangCommand(app *kingpin.Application) (string, action) {
	cmd := app.Command("hang", "Read PyTorch NCCL flight-recorder dumps of a hung job and name the ranks that everybody waits for.")
	paths := cmd.Arg("dump", "Dumps of all ranks, pickle or JSON, or folders of them. The rank is the last number in the file's name.").Required().ExistingFilesOrDirs()
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

// readDumps reads all dumps. Its error is about every file that cannot be read;
// a watchdog that kills a process while it writes leaves half a dump, and the
// others are worth as much without it.
func readDumps(paths []string) ([]*flightrec.Dump, error) {
	var files []string
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return nil, fmt.Errorf("hang: %w", err)
		}
		if !info.IsDir() {
			files = append(files, p)
			continue
		}
		entries, err := os.ReadDir(p)
		if err != nil {
			return nil, fmt.Errorf("hang: %w", err)
		}
		for _, entry := range entries {
			if entry.Type().IsRegular() {
				files = append(files, filepath.Join(p, entry.Name()))
			}
		}
	}
	var dumps []*flightrec.Dump
	var errs []error
	for _, f := range files {
		d, err := readDump(f)
		if err != nil {
			errs = append(errs, fmt.Errorf("hang: %s: %w", f, err))
			continue
		}
		dumps = append(dumps, d)
	}
	return dumps, errors.Join(errs...)
}

var lastNumber = regexp.MustCompile(`(\d+)\D*$`)

func readDump(path string) (*flightrec.Dump, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxDump+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxDump {
		return nil, fmt.Errorf("larger than %d MB: that is no dump", maxDump>>20)
	}
	d, err := flightrec.Decode(data)
	if err != nil {
		return nil, err
	}
	if m := lastNumber.FindStringSubmatch(filepath.Base(path)); d.Rank < 0 && m != nil {
		if d.Rank, err = strconv.Atoi(m[1]); err != nil {
			return nil, fmt.Errorf("rank %s in the file's name: %w", m[1], err)
		}
	}
	return d, nil
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
		Cycle: orEmpty(r.Cycle), Alike: r.Alike, Differ: []hangMismatch{}, Absent: orEmpty(r.Absent), Ranks: len(r.Ranks),
		Group: groupName(r), Operation: r.Op, Sequence: r.Seq,
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
	line("%d ranks with a dump.", len(r.Ranks))
	switch {
	case len(r.Mismatches) > 0:
		for _, m := range r.Mismatches {
			line("Ranks of group %s do not agree on operation %d:", m.Group, m.Seq)
			for _, sig := range sortedKeys(m.Signatures) {
				line("  %s  by ranks %s", sig, ranges(m.Signatures[sig]))
			}
			if len(m.Ranks) > 0 {
				line("Look at ranks %s first: they differ from the majority.", ranges(m.Ranks))
			}
		}
	case len(r.Roots) > 0:
		line("Everybody waits for %s: not entered %s, operation %d of group %s.", plural("rank", r.Roots), orUnknown(r.Op), r.Seq, groupName(r))
		for _, root := range r.Roots {
			line("  rank %d is waited for by ranks %s", root, ranges(r.WaitedBy[root]))
		}
	case len(r.Cycle) > 0:
		line("Ranks %s wait for each other: the order of their operations differs. No rank is missing, no host is suspect.", ranges(r.Cycle))
	case len(r.NotExited) > 0:
		line("All entered, and %s did not leave operation %d of group %s.", plural("rank", r.NotExited), r.Seq, groupName(r))
	case r.Alike:
		line("All ranks are at the same operation and none progresses: the dumps name nobody. Look at the network.")
	default:
		line("No rank waits for another: the dumps show no hang.")
	}
	if len(r.Masked) > 0 {
		line("Ranks %s are behind as well, but wait themselves: whether they failed cannot be told.", ranges(r.Masked))
	}
	if len(r.Absent) > 0 {
		line("No dump of ranks %s: a rank that could not write one may be the cause.", ranges(r.Absent))
	}
}

func orUnknown(s string) string {
	if s == "" {
		return "an unknown operation"
	}
	return s
}

func plural(word string, ranks []int) string {
	if len(ranks) == 1 {
		return fmt.Sprintf("%s %d", word, ranks[0])
	}
	return fmt.Sprintf("%ss %s", word, ranges(ranks))
}

func sortedKeys(m map[string][]int) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
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
