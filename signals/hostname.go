package signals

import (
	"net/netip"
	"strings"
	"unicode/utf8"
)

// maxName bounds every name taken from a label, so that hostile labels cannot
// fill the memory of tables that live for long.
const maxName = 253

// CanonicalHost normalises a host name as labels have it: port and domain are
// cut off and letters lowered. An address stays whole. The result is "" if
// nothing of it can be a name.
func CanonicalHost(s string) string {
	s = hostWithDomain(s)
	if i := strings.IndexByte(s, '.'); i >= 0 {
		if _, err := netip.ParseAddr(s); err != nil {
			s = s[:i]
		}
	}
	return s
}

// hostWithDomain is CanonicalHost without cutting the domain off.
func hostWithDomain(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > maxName {
		s = s[:maxName]
	}
	if _, rest, ok := strings.Cut(s, "://"); ok {
		s = rest
		if i := strings.IndexByte(s, '/'); i >= 0 {
			s = s[:i]
		}
	}
	if a, err := netip.ParseAddrPort(s); err == nil {
		return a.Addr().Unmap().String()
	}
	if a, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		return a.Unmap().String()
	}
	if i := strings.LastIndexByte(s, ':'); i >= 0 {
		s = s[:i]
	}
	if a, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		return a.Unmap().String()
	}
	s = strings.TrimRight(s, ".")
	return clean(strings.ToLower(s))
}

// clean makes foreign text safe to keep and to show: bounded, valid UTF-8,
// without control characters.
func clean(s string) string {
	if len(s) > maxName {
		s = s[:maxName]
	}
	ok := utf8.ValidString(s)
	for i := 0; ok && i < len(s); i++ {
		ok = s[i] >= 0x20 && s[i] != 0x7f
	}
	if ok {
		return s
	}
	s = strings.ToValidUTF8(s, "�")
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return '�'
		}
		return r
	}, s)
}

func upper(s string) string { return strings.ToUpper(s) }

// canonicalUUID cuts the prefix off a GPU's UUID and lowers it.
func canonicalUUID(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	return clean(strings.TrimPrefix(s, "gpu-"))
}

// fileUUID finds the GPU's UUID in the path of an Inspector file; ok is false
// if the path is no Inspector file. The UUID may be "" for forks that name
// files otherwise.
func fileUUID(path string) (uuid string, ok bool) {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		path = path[i+1:]
	}
	base := strings.ToLower(strings.TrimSuffix(path, ".prom"))
	if !strings.Contains(base, "inspector") || len(base) > maxName {
		return "", false
	}
	const n = 36
	for i := len(base) - n; i >= 0; i-- {
		if isUUID(base[i : i+n]) {
			return base[i : i+n], true
		}
	}
	return "", true
}

func isUUID(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case (c < '0' || c > '9') && (c < 'a' || c > 'f'):
			return false
		}
	}
	return len(s) == 36
}

// gpuDevice turns the ways to write a GPU's index into "GPU3": "3", "GPU3",
// "nvidia3", "cuda:3". Other text stays as it is.
func gpuDevice(s string) string {
	i := len(s)
	for i > 0 && s[i-1] >= '0' && s[i-1] <= '9' {
		i--
	}
	if i == len(s) || len(s)-i > 4 {
		return clean(s)
	}
	switch strings.ToLower(s[:i]) {
	case "", "gpu", "nvidia", "cuda", "cuda:", "card":
		digits := strings.TrimLeft(s[i:], "0")
		if digits == "" {
			digits = "0"
		}
		return "GPU" + digits
	}
	return clean(s)
}

// nicPort splits names such as "mlx5_0_1" or "mlx5_0/1" into device and port
// where no port label exists.
func nicPort(device string) (dev, port string) {
	if i := strings.LastIndexAny(device, "/:"); i > 0 && digitsOnly(device[i+1:]) {
		return device[:i], device[i+1:]
	}
	if i := strings.LastIndexByte(device, '_'); i > 0 && digitsOnly(device[i+1:]) { // "mlx5_0_1", but not "mlx5_bond_0"
		if k := strings.LastIndexByte(device[:i], '_'); k > 0 && digitsOnly(device[k+1:i]) {
			return device[:i], device[i+1:]
		}
	}
	return device, ""
}

func digitsOnly(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// canonicalOp gives one spelling to the names of operations.
func canonicalOp(s string) string {
	switch strings.ToLower(strings.TrimPrefix(s, "nccl")) {
	case "allreduce", "all_reduce":
		return "AllReduce"
	case "reducescatter", "reduce_scatter":
		return "ReduceScatter"
	case "allgather", "all_gather":
		return "AllGather"
	case "alltoall", "all_to_all":
		return "AllToAll"
	case "broadcast", "bcast":
		return "Broadcast"
	case "reduce":
		return "Reduce"
	case "send":
		return "Send"
	case "recv", "receive":
		return "Recv"
	case "sendrecv", "send_recv":
		return "SendRecv"
	}
	return clean(s)
}
