package topology

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/topology/parse"
)

var noon = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// textOf parses a text as a source of a kind.
func textOf(t *testing.T, order int, kind, host, text string) sourceFacts {
	t.Helper()
	k, err := parse.KindOf(kind)
	require.NoError(t, err)
	f, err := k.Parse(parse.Source{Name: kind, Host: host, Text: strings.NewReader(text)})
	require.NoError(t, err)
	return sourceFacts{name: kind, trust: k.Trust, order: order, time: noon.Add(-time.Hour), facts: f}
}

// railLive is a rail cluster as series show it: adapters, GPUs and links.
func railLive(hosts int, devices []string, describe func(h, k int) string) Observed {
	o := Observed{GPUs: map[string][]string{}, Paths: map[[2]string]string{}}
	for h := range hosts {
		host := hostName(h)
		for k, d := range devices {
			o.NICs = append(o.NICs, ObservedNIC{Host: host, Device: d, Port: "1", Model: "MT4129", Rate: 5e10, Live: true})
			o.GPUs[host] = append(o.GPUs[host], fmt.Sprintf("GPU%d", k))
			if describe == nil {
				continue
			}
			l := parse.Link{Switch: fmt.Sprintf("leaf-r%d", k), SwitchPort: fmt.Sprint(h + 1)}
			l.Host, l.Device, l.Slot = parse.Description(describe(h, k))
			o.Links = append(o.Links, l)
		}
	}
	sortNICs(o.NICs)
	return o
}

func hostName(h int) string { return fmt.Sprintf("gpu-%03d", h+1) }

func fabricOf(o Observed, files ...sourceFacts) *Fabric { return Build(Derive(merge(o, files, noon))) }

func texts(f *Fabric) string {
	var b strings.Builder
	for _, d := range f.Disagreements() {
		b.WriteString(d.String() + "\n")
	}
	return b.String()
}
