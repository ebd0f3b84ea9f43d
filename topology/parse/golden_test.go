package parse

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write golden files")

// TestGolden reads testdata/KIND/NAME.in, for dumps of hosts with NAME as host,
// and compares all facts.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.in")
	require.NoError(t, err)
	covered := map[string]bool{}
	for _, path := range files {
		kind := filepath.Base(filepath.Dir(path))
		covered[kind] = true
		t.Run(strings.TrimPrefix(path, "testdata/"), func(t *testing.T) {
			k, err := KindOf(kind)
			require.NoError(t, err)
			text, err := os.Open(path)
			require.NoError(t, err)
			defer text.Close()
			src := Source{Name: filepath.Base(path), Text: text, Labels: map[string][]string{Rack: {"example.org/place"}}}
			if k.PerHost {
				src.Host = strings.TrimSuffix(filepath.Base(path), ".in")
			}
			facts, err := k.Parse(src)
			got := dump(facts)
			if err != nil {
				got += "error: " + err.Error() + "\n"
			}
			golden := strings.TrimSuffix(path, ".in") + ".golden"
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
		})
	}
	for _, k := range Kinds() {
		require.True(t, covered[k.Name], "no golden test of %s", k.Name)
	}
}

// dump writes facts as lines; fields that are zero are left out.
func dump(f *Facts) string {
	var b strings.Builder
	pair := func(name, v string) {
		if v != "" && v != "0" && v != "false" {
			fmt.Fprintf(&b, " %s=%s", name, v)
		}
	}
	for _, p := range f.Places {
		fmt.Fprintf(&b, "place %d: %s %s=%s", p.Line, p.Host, p.Level, p.Name)
		if p.Shown != p.Host {
			pair("shown", p.Shown)
		}
		b.WriteByte('\n')
	}
	for _, l := range f.Links {
		fmt.Fprintf(&b, "link %d: %s:%s --", l.Line, l.Switch, l.SwitchPort)
		pair("host", l.Host)
		pair("device", l.Device)
		pair("port", l.Port)
		pair("slot", l.Slot)
		pair("guid", l.GUID)
		pair("node", l.NodeGUID)
		pair("switch", l.SwitchGUID)
		pair("rate", fmt.Sprint(l.Rate))
		pair("hint", l.Hint)
		pair("down", fmt.Sprint(l.Down))
		pair("plan", fmt.Sprint(l.Plan))
		pair("iface", fmt.Sprint(l.Iface))
		b.WriteByte('\n')
	}
	for _, u := range f.Trunks {
		fmt.Fprintf(&b, "trunk %d: %s:%s -- %s:%s", u.Line, u.Switch, u.Port, u.Peer, u.PeerPort)
		pair("rate", fmt.Sprint(u.Rate))
		pair("hint", u.Hint)
		pair("down", fmt.Sprint(u.Down))
		b.WriteByte('\n')
	}
	for _, n := range f.NICs {
		fmt.Fprintf(&b, "nic %d: %s/%s", n.Line, n.Host, n.Device)
		pair("port", n.Port)
		pair("guid", n.GUID)
		pair("pci", n.PCI)
		pair("rate", fmt.Sprint(n.Rate))
		if n.Rail+n.Plane != "" {
			fmt.Fprintf(&b, " rail=%q plane=%q", n.Rail, n.Plane)
		}
		b.WriteByte('\n')
	}
	for _, n := range f.Near {
		fmt.Fprintf(&b, "near %d: %s/%s %s %s of=%d", n.Line, n.Host, n.GPU, n.Path, n.NIC, n.Of)
		pair("assumed", fmt.Sprint(n.Assumed))
		b.WriteByte('\n')
	}
	for _, g := range f.Graphs {
		fmt.Fprintf(&b, "graph %d: %s %s channels=%d intra=%s inter=%s\n", g.Line, g.Host, g.Pattern, g.Channels, g.TypeIntra, g.TypeInter)
	}
	for _, p := range f.Notes {
		fmt.Fprintf(&b, "note %s\n", p)
	}
	for _, p := range f.Problems {
		fmt.Fprintf(&b, "problem %s\n", p)
	}
	fmt.Fprintf(&b, "dropped %d skipped %d\n", f.Dropped, f.Skipped)
	return b.String()
}
