package parse

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func parseText(t testing.TB, kind, text string, lim Limits) (*Facts, error) {
	t.Helper()
	k, err := KindOf(kind)
	require.NoError(t, err)
	return k.Parse(Source{Name: "f", Host: "gpu-001", Text: strings.NewReader(text), Limits: lim})
}

func TestHostlist(t *testing.T) {
	tests := []struct {
		list string
		want string // hosts with blanks, or an error after "!"
	}{
		{"a,b", "a b"},
		{"gpu-[001-003,006]", "gpu-001 gpu-002 gpu-003 gpu-006"},
		{"n[9-11]", "n9 n10 n11"},
		{"n[09-11]x", "n09x n10x n11x"},
		{"r[1-2]n[01-02]", "r1n01 r1n02 r2n01 r2n02"},
		{"leaf-[a-c]", "leaf-a leaf-b leaf-c"},
		{" a , ,b,", "a b"},
		{"", ""},
		{"n[0-999999999]", "!more than 1000 hosts"},
		{"n[0-99]m[0-99]", "!more than 1000 hosts"},
		{"n[1-600],n[1-600]", "!more than 1000 hosts"},
		{"n[99999999999]", "!is no number"},
		{"n[3-1]", "!runs backwards"},
		{"n[1", "!without ]"},
		{"n1]", "!without ["},
		{"n[[1]]", "![ inside []"},
		{"n[]", "!is no number"},
		{"n[-3]", "!is no number"},
		{strings.Repeat("[1]", 40), "!pairs of brackets"},
	}
	for _, tt := range tests {
		t.Run(tt.list, func(t *testing.T) {
			got, err := Hostlist(tt.list, 1000)
			if msg, bad := strings.CutPrefix(tt.want, "!"); bad {
				require.ErrorContains(t, err, msg)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, strings.Join(got, " "))
		})
	}
}

func TestNothingUsableIsAnError(t *testing.T) {
	for _, k := range Kinds() {
		for name, text := range map[string]string{"empty": "", "binary": "\x00\xff\xfe\n\x01\x02", "prose": "hello\nworld\n"} {
			t.Run(k.Name+"/"+name, func(t *testing.T) {
				_, err := parseText(t, k.Name, text, Limits{})
				require.ErrorIs(t, err, ErrNothing)
				require.ErrorContains(t, err, "f")
			})
		}
	}
}

func TestDumpsNeedAHost(t *testing.T) {
	for _, k := range Kinds() {
		if !k.PerHost {
			continue
		}
		_, err := k.Parse(Source{Name: "dump", Text: strings.NewReader("x")})
		require.ErrorContains(t, err, "host", k.Name)
	}
}

// endless gives one byte for ever.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

func TestBombsStayBounded(t *testing.T) {
	tests := []struct {
		name, kind string
		text       io.Reader
		want       string // in a problem
	}{
		{"an endless line", "ibnetdiscover", endless('x'), "longer than"},
		{"endless continuations", "slurm_conf", io.MultiReader(strings.NewReader("SwitchName=a "), repeat("\\\n")), "longer than"},
		{"depth of XML", "nccl_topo", io.MultiReader(strings.NewReader(`<system>`), repeat("<pci>")), "levels"},
		{"elements of XML", "nccl_topo", io.MultiReader(strings.NewReader(`<system>`), repeat("<c2c/>")), "elements"},
		{"entities of XML", "nccl_topo", strings.NewReader(`<!DOCTYPE s [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><system version="&b;"/>`), "entity"},
		{"GPUs of XML", "nccl_topo", io.MultiReader(strings.NewReader(`<system><pci busid="0000:0b:00.0">`), repeat(`<gpu dev="0"/>`)), "GPUs"},
		{"aliases of YAML", "slurm_yaml", strings.NewReader("- topology: a\n  x: &a [1,1,1,1,1,1,1,1,1]\n  y: &b [*a,*a,*a,*a,*a,*a,*a,*a]\n  z: &c [*b,*b,*b,*b,*b,*b]\n  tree: {switches: [*c]}\n"), "a map is expected"},
		{"a hostlist", "slurm_conf", strings.NewReader("SwitchName=a Nodes=n[0-999999999]\n"), "more than"},
		{"a product of hostlists", "slurm_conf", strings.NewReader("SwitchName=a Nodes=" + strings.Repeat("n[0-99]", 8) + "\n"), "more than"},
		{"many hosts in many lines", "slurm_conf", repeat("SwitchName=a Nodes=n[0-9999]\n"), "places of hosts"},
		{"many links", "csv", io.MultiReader(strings.NewReader("host,device,leaf\n"), repeat("a,b,c\n")), "rows"},
		{"a header of columns", "nvidia_smi_topo", io.LimitReader(repeat("GPU0 "), 1<<20), "no header"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k, err := KindOf(tt.kind)
			require.NoError(t, err)
			lim := Limits{Bytes: 8 << 20, Hosts: 20_000, Links: 20_000}
			f, _ := k.Parse(Source{Name: "f", Host: "h", Text: tt.text, Limits: lim})
			require.NotEmpty(t, f.Problems)
			require.Contains(t, fmt.Sprint(f.Problems), tt.want)
			require.LessOrEqual(t, len(f.Problems), 20)
			require.LessOrEqual(t, len(f.Places)+len(f.Links), 40_000)
		})
	}
}

// repeat gives a text for ever.
func repeat(s string) io.Reader { return &repeater{s: s} }

type repeater struct {
	s  string
	at int
}

func (r *repeater) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		c := copy(p[n:], r.s[r.at:])
		n += c
		r.at = (r.at + c) % len(r.s)
	}
	return n, nil
}

func TestWrongUTF8AndControls(t *testing.T) {
	f, err := parseText(t, "csv", "host,leaf\nn1,le\xffaf\x07\n", Limits{})
	require.NoError(t, err)
	require.Equal(t, "le\ufffdaf\ufffd", f.Places[0].Name)
}

func TestHundredThousandHosts(t *testing.T) {
	f, err := parseText(t, "slurm_conf", "SwitchName=s Nodes=n[000000-099999]\n", Limits{})
	require.NoError(t, err)
	require.Len(t, f.Places, 100_000)
	require.Equal(t, "n099999", f.Places[99_999].Host)
}

func TestDescription(t *testing.T) {
	tests := []struct{ desc, host, device, slot string }{
		{"gpu-001 mlx5_3", "gpu-001", "mlx5_3", ""},
		{"gpu-001 HCA-4", "gpu-001", "", "4"},
		{"GPU-001.example.org mlx5_ib0", "gpu-001", "mlx5_ib0", ""},
		{"gpu-001 HCA-1 (Mellanox)", "gpu-001", "", "1"},
		{"r01n01 hfi1_0", "r01n01", "hfi1_0", ""},
		{"gpu-001", "gpu-001", "", ""},
		{"localhost mlx5_0", "", "", ""},
		{"MT4129 ConnectX7   Mellanox Technologies", "", "", ""},
		{"MT25408 ConnectX", "", "", ""},
		{"Mellanox Technologies", "", "", ""},
		{"", "", "", ""},
	}
	for _, tt := range tests {
		host, device, slot := Description(tt.desc)
		require.Equal(t, []string{tt.host, tt.device, tt.slot}, []string{host, device, slot}, tt.desc)
	}
}

func TestIdentifiers(t *testing.T) {
	require.Equal(t, "b800000000000103", GUID("0xB800000000000103"))
	require.Equal(t, "b800000000000103", GUID("b800:0000:0000:0103"))
	require.Equal(t, "0000000000200001", GUID("200001"))
	require.Empty(t, GUID("0x0"))
	require.Empty(t, GUID("zz"))
	require.Equal(t, "0000:0b:00.0", PCI("00000000:0B:00.0"))
	require.Equal(t, "0000:0b:00.1", PCI("0b:00.1"))
	require.Equal(t, "10000:0b:00.0", PCI("00010000:0b:00.0"))
	require.Empty(t, PCI("what"))
	require.Equal(t, "leaf-r3", SwitchName("MF0;leaf-r3:MQM9700/U1"))
}
