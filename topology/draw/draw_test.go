package draw

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/topology"
)

var update = flag.Bool("update", false, "write golden files")

// rails is a rail fabric in units, with one pair of cables exchanged and one
// uplink lost.
func rails(hosts, perUnit, devices int) *topology.Fabric {
	f := topology.Facts{Rack: map[string]string{}, MostUplinks: map[string]int{}}
	for h := range hosts {
		host := fmt.Sprintf("gpu-%03d", h+1)
		f.Rack[host] = fmt.Sprintf("r%d", h/8)
		for k := range devices {
			p := topology.Port{Host: host, Device: fmt.Sprintf("mlx5_%d", k), Port: "1", Compute: true, Rail: fmt.Sprint(k), Source: "series"}
			p.Leaf = fmt.Sprintf("su%d-leaf-r%d", h/perUnit, k)
			if h == 1 && k < 2 {
				p.ExpectedLeaf, p.Leaf = p.Leaf, fmt.Sprintf("su0-leaf-r%d", 1-k)
			}
			f.Ports = append(f.Ports, p)
		}
	}
	for u := range (hosts + perUnit - 1) / perUnit {
		for k := range devices {
			leaf := fmt.Sprintf("su%d-leaf-r%d", u, k)
			f.MostUplinks[leaf] = 4
			for s := range 4 {
				if u == 0 && k == 1 && s == 3 {
					continue
				}
				f.Uplinks = append(f.Uplinks, topology.Uplink{Switch: leaf, Port: fmt.Sprint(33 + s), Peer: fmt.Sprintf("spine-%d", s+1)})
			}
		}
	}
	f.Disagreements = []topology.Disagreement{{About: "rack", Host: "gpu-003", Claims: []topology.Claim{{Source: "series", Value: "r1"}, {Source: "csv a<b", Value: "r2"}}}}
	return topology.Build(f)
}

func drawings(f *topology.Fabric) map[string]func(io.Writer) error {
	return map[string]func(io.Writer) error{
		"txt":  func(w io.Writer) error { return Text(w, f.View(true)) },
		"dot":  func(w io.Writer) error { return DOT(w, f.View(true)) },
		"svg":  func(w io.Writer) error { return SVG(w, f.View(true)) },
		"json": func(w io.Writer) error { return JSON(w, f) },
	}
}

func TestGolden(t *testing.T) {
	for name, drawing := range drawings(rails(4, 4, 2)) {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			require.NoError(t, drawing(&got))
			path := "testdata/small." + name
			if *update {
				require.NoError(t, os.WriteFile(path, got.Bytes(), 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(want), got.String())
		})
	}
}

// A person can read a drawing of 800 hosts: hosts that look alike share a row,
// and the one that is wrong keeps its own.
func TestEightHundredHostsAreFolded(t *testing.T) {
	v := rails(800, 32, 8).View(true)
	rows := 0
	for _, p := range v.Panels {
		rows += len(p.Rows)
	}
	require.LessOrEqual(t, rows, 25*4+1)
	var text bytes.Buffer
	require.NoError(t, Text(&text, v))
	require.Regexp(t, `(?m)^  gpu-002 .*\(!\)`, text.String())
	require.Contains(t, text.String(), "gpu-009 … gpu-016 (8)")
	require.Len(t, rails(800, 32, 8).View(false).Panels[0].Rows, 32)
}

// No drawing may break or let markup through, whatever hosts are called.
func TestHostileNames(t *testing.T) {
	f := topology.Build(topology.Facts{
		Ports: []topology.Port{{Host: `<script>"a`, Device: `]]>&\`, Leaf: "\"\nleaf</svg>"}},
		Rack:  map[string]string{`<script>"a`: "<b>"},
	})
	for name, drawing := range drawings(f) {
		var got bytes.Buffer
		require.NoError(t, drawing(&got), name)
		require.NotEmpty(t, got.String())
		switch name {
		case "svg":
			require.NotContains(t, got.String(), "<script")
			wellFormed(t, got.Bytes())
		case "json":
			require.True(t, json.Valid(got.Bytes()))
		case "dot":
			require.NotContains(t, got.String(), "\"\nleaf")
		}
	}
}

func TestEmptyFabric(t *testing.T) {
	for name, drawing := range drawings(nil) {
		var got bytes.Buffer
		require.NoError(t, drawing(&got), name)
		require.NotEmpty(t, got.String())
	}
}

func wellFormed(t *testing.T, doc []byte) {
	t.Helper()
	dec := xml.NewDecoder(bytes.NewReader(doc))
	for {
		_, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}

func TestSVGNeedsNothingFromOutside(t *testing.T) {
	var got bytes.Buffer
	require.NoError(t, SVG(&got, rails(16, 16, 8).View(true)))
	wellFormed(t, got.Bytes())
	text := strings.Replace(got.String(), `xmlns="http://www.w3.org/2000/svg"`, "", 1)
	for _, bad := range []string{"http", "<script", "<image", "url(", "@import"} {
		require.NotContains(t, text, bad)
	}
}
