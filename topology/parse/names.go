package parse

import (
	"fmt"
	"strings"

	"github.com/collwatch/collwatch/signals"
)

func canonical(host string) string { return signals.CanonicalHost(host) }

// SwitchName strips what a managed switch adds to its name:
// "MF0;leaf-r3:MQM9700/U1" is leaf-r3.
func SwitchName(desc string) string {
	desc = strings.TrimSpace(desc)
	if _, rest, ok := strings.Cut(desc, ";"); ok && strings.HasPrefix(desc, "MF0;") {
		name, _, _ := strings.Cut(rest, ":")
		return strings.TrimSpace(name)
	}
	return desc
}

// GUID brings an identifier of InfiniBand into one form: 16 lower-case
// hexadecimal digits. The result is "" if s is none or all zero.
func GUID(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	s = strings.TrimPrefix(s, "0x")
	s = strings.ReplaceAll(s, ":", "")
	if s == "" || len(s) > 16 || strings.Trim(s, "0123456789abcdef") != "" || strings.Trim(s, "0") == "" {
		return ""
	}
	return strings.Repeat("0", 16-len(s)) + s
}

// PCI brings a PCI address into the form dddd:bb:dd.f. The result is "" if s is
// none.
func PCI(s string) string {
	parts := strings.Split(strings.ToLower(strings.TrimSpace(s)), ":")
	if len(parts) == 2 {
		parts = append([]string{"0000"}, parts...)
	}
	if len(parts) != 3 || len(parts[0]) > 8 || len(parts[1]) != 2 {
		return ""
	}
	domain := strings.TrimLeft(parts[0], "0")
	slot, function, ok := strings.Cut(parts[2], ".")
	if !ok {
		function = "0"
	}
	if len(slot) != 2 || len(function) != 1 || strings.Trim(domain+parts[1]+slot+function, "0123456789abcdef") != "" {
		return ""
	}
	return fmt.Sprintf("%s%s:%s:%s.%s", strings.Repeat("0", max(0, 4-len(domain))), domain, parts[1], slot, function)
}

// Description takes a node description apart: "gpu-001 mlx5_3" is a host and a
// device, "gpu-001 HCA-4" a host and a slot, "gpu-001" a host. The text that an
// adapter has before anybody names it, such as "MT4129 ConnectX7   Mellanox
// Technologies", is nothing.
func Description(desc string) (host, device, slot string) {
	desc, _, _ = strings.Cut(desc, " (")
	fields := strings.Fields(desc)
	switch len(fields) {
	case 1:
		if looksLikeHost(fields[0]) {
			return canonical(fields[0]), "", ""
		}
	case 2:
		if !looksLikeHost(fields[0]) {
			return "", "", ""
		}
		if n, ok := strings.CutPrefix(strings.ToUpper(fields[1]), "HCA-"); ok && digits(n) {
			return canonical(fields[0]), "", n
		}
		if looksLikeDevice(fields[1]) {
			return canonical(fields[0]), printable(fields[1]), ""
		}
	}
	return "", "", ""
}

func looksLikeHost(s string) bool {
	for _, generic := range []string{"localhost", "mellanox", "connectx", "infiniband", "mt4", "mt2", "technologies", "nvidia", "hca", "mf0;", "quantum", "switch"} {
		if strings.HasPrefix(strings.ToLower(s), generic) {
			return false
		}
	}
	return strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}

// looksLikeDevice holds for names such as mlx5_3, mlx5_ib0, hfi1_0, bnxt_re1,
// rocep12s0: lower case, with a digit at the end.
func looksLikeDevice(s string) bool {
	return len(s) > 1 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_") == "" && digits(s[len(s)-1:])
}

func digits(s string) bool { return s != "" && len(s) < 10 && strings.Trim(s, "0123456789") == "" }

// laneRate is the nominal rate of one lane in bit/s by the word of its speed.
func laneRate(word string) float64 {
	switch strings.ToUpper(word) {
	case "SDR":
		return 2.5e9
	case "DDR":
		return 5e9
	case "QDR", "FDR10":
		return 10e9
	case "FDR":
		return 14e9
	case "EDR":
		return 25e9
	case "HDR":
		return 50e9
	case "NDR":
		return 100e9
	case "XDR":
		return 200e9
	}
	return 0
}

// speedRate turns "4xNDR" or ("4x", "NDR") into bytes per second.
func speedRate(width, word string) float64 {
	n := strings.TrimSuffix(strings.ToLower(width), "x")
	if !digits(n) || len(n) > 2 {
		return 0
	}
	lanes := 0
	for _, d := range n {
		lanes = lanes*10 + int(d-'0')
	}
	return float64(lanes) * laneRate(word) / 8
}

// rawLane turns the signalling rate of a lane in Gb/s, as iblinkinfo prints it,
// into the nominal rate in bit/s: 106.25 is NDR.
func rawLane(gbps float64) float64 {
	for _, r := range [][2]float64{{2.5, 2.5e9}, {5, 5e9}, {10, 10e9}, {10.3125, 10e9}, {14.0625, 14e9}, {25.78125, 25e9}, {53.125, 50e9}, {106.25, 100e9}, {212.5, 200e9}} {
		if gbps > r[0]*0.995 && gbps < r[0]*1.005 {
			return r[1]
		}
	}
	return gbps * 1e9
}
