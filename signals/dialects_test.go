package signals_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/signals"
)

// Each file in testdata/dialects holds series as exporters write them, with
// values 15 s apart ("-" is a scrape without the series). Through an embedded
// Prometheus they become the canonical frames of the golden file beside it.
func TestDialects(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "dialects", "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, ticks := exposition(t, file)
			r := reader(t, load(t, text), signals.Options{})
			var last *signals.Snapshot
			for i := range ticks {
				last = r.Read(t.Context(), unix(t0+int64(15*i)))
			}
			golden(t, strings.TrimSuffix(file, ".txt")+".golden", canonical(last))
		})
	}
}

func exposition(t *testing.T, file string) (text string, ticks int) {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	var b strings.Builder
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		end := strings.LastIndexByte(line, '}') + 1
		values := strings.Fields(line[end:])
		ticks = max(ticks, len(values))
		for i, v := range values {
			if v != "-" {
				fmt.Fprintf(&b, "%s %s %d\n", line[:end], v, t0+15*i)
			}
		}
	}
	require.NoError(t, lines.Err())
	return b.String(), ticks
}

// canonical renders what a tick says, in an order of its own.
func canonical(s *signals.Snapshot) []byte {
	var rows []string
	for id, f := range s.Frames {
		for i := range f.Len() {
			rows = append(rows, fmt.Sprintf("%s [%s] %s = %s", signals.ID(id), s.Dialects[f.Dialect[i]], entityText(s.Entities.Of(f.Entity[i])),
				strconv.FormatFloat(f.Value[i], 'g', 9, 64)))
		}
	}
	slices.Sort(rows)
	var b bytes.Buffer
	for _, r := range rows {
		fmt.Fprintln(&b, r)
	}
	for _, j := range s.Jobs {
		fmt.Fprintf(&b, "job %s name=%q user=%q hosts=%v gpus=%v placed=%v ended=%v\n", j.ID, j.Name, j.User, j.Hosts, j.GPUs, j.Placed, j.Ended)
	}
	for _, g := range s.Groups {
		fmt.Fprintf(&b, "group %s %s by %s whole=%v members=%v\n", g.ID, g.Kind, g.Derived, g.Whole, g.Members)
	}
	for _, g := range s.Gaps {
		fmt.Fprintf(&b, "gap %s\n", g)
	}
	return b.Bytes()
}

func entityText(e signals.Entity) string {
	kinds := [...]string{"none", "host", "gpu", "nic", "switchport", "comm", "rank", "job"}
	out := kinds[e.Kind]
	for _, f := range []struct {
		name string
		v    any
	}{
		{"host", e.Host},
		{"device", e.Device},
		{"port", e.Port},
		{"job", e.Job},
		{"comm", e.Comm},
		{"op", e.Op},
		{"size", e.Size},
		{"algo", e.Algo},
		{"version", e.Version},
		{"nranks", e.NRanks},
		{"nnodes", e.NNodes},
		{"rank", e.Rank},
		{"peer", e.Peer},
		{"detail", e.Detail},
	} {
		if text := fmt.Sprint(f.v); text != "" && text != "0" {
			out += " " + f.name + "=" + text
		}
	}
	return out
}
