package parse

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"
)

// fuzz feeds one parser with mutations of its golden inputs. Nothing may panic,
// outgrow the limits or let text through that cannot be shown.
func fuzz(f *testing.F, kind string) {
	k, err := KindOf(kind)
	if err != nil {
		f.Fatal(err)
	}
	files, _ := filepath.Glob("testdata/" + kind + "/*.in")
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	lim := Limits{Bytes: 1 << 20, Hosts: 1000, Links: 1000, Problems: 5}
	f.Fuzz(func(t *testing.T, text []byte) {
		facts, err := k.Parse(Source{Name: "f", Host: "h1", Text: bytes.NewReader(text), Limits: lim})
		if facts == nil {
			t.Fatal("no facts")
		}
		if len(facts.Places) > lim.Hosts || len(facts.Links) > lim.Links || len(facts.Trunks) > lim.Links || len(facts.Problems) > lim.Problems {
			t.Fatal("limits are not kept")
		}
		if err == nil && len(facts.Places)+len(facts.Links)+len(facts.Trunks)+len(facts.NICs)+len(facts.Near)+len(facts.Graphs) == 0 {
			t.Fatal("nothing, and no error")
		}
		for _, p := range facts.Places {
			if p.Host == "" || p.Name == "" || !utf8.ValidString(p.Host+p.Name+p.Shown) {
				t.Fatalf("place %+v", p)
			}
		}
		for _, l := range facts.Links {
			if !utf8.ValidString(l.Switch + l.Host + l.Device + l.SwitchPort + l.Hint) {
				t.Fatalf("link %+v", l)
			}
		}
	})
}

func FuzzSlurmConf(f *testing.F)       { fuzz(f, "slurm_conf") }
func FuzzSlurmYAML(f *testing.F)       { fuzz(f, "slurm_yaml") }
func FuzzTopograph(f *testing.F)       { fuzz(f, "topograph") }
func FuzzNodeLabels(f *testing.F)      { fuzz(f, "node_labels") }
func FuzzIBNetDiscover(f *testing.F)   { fuzz(f, "ibnetdiscover") }
func FuzzIBLinkInfo(f *testing.F)      { fuzz(f, "iblinkinfo") }
func FuzzNCCLTopo(f *testing.F)        { fuzz(f, "nccl_topo") }
func FuzzNCCLGraph(f *testing.F)       { fuzz(f, "nccl_graph") }
func FuzzNvidiaSMITopo(f *testing.F)   { fuzz(f, "nvidia_smi_topo") }
func FuzzNvidiaSMIFabric(f *testing.F) { fuzz(f, "nvidia_smi_fabric") }
func FuzzCSV(f *testing.F)             { fuzz(f, "csv") }
