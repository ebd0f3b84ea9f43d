package signals

import (
	"math"
	"strconv"
	"strings"
)

// Message sizes arrive as floor buckets one unit wide ("134-135MB"), as text
// ("2.00GB"), as bytes or as powers of two. All are folded into one grid of
// quarter octaves whose classes are centred on 2^(k/4): 128M, 152M, 181M, 215M,
// 256M.
//
// The grid is that fine on purpose. A coarser one (factor 2 or 4) would put 134
// MB and 201 MB into one series, and a job whose sequences got longer would
// look 1.5 times slower. A finer one would start a new series whenever the
// vocabulary grows by a few rows. Within one class times differ by at most
// 19 % for reasons of size, less than any detector acts upon. Classes are
// centred on the powers of two because sizes sit there so often: a border at
// exactly 128 MB would split them by chance.
//
// Several fine buckets of one class are never averaged, because no dialect
// tells how many operations each holds: the bucket that is nearest to the one
// used last speaks for the class, and Frame.Bytes says which it was.

// parseSize reads a size or a bucket and returns its bounds in bytes (1024
// based units; equal for an exact size). ok is false for other text.
func parseSize(s string) (lo, hi float64, ok bool) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > 32 {
		return 0, 0, false
	}
	body, unit := splitUnit(s)
	a, b, bucket := strings.Cut(body, "-")
	lo, err := strconv.ParseFloat(strings.TrimSpace(a), 64)
	if err != nil || !(lo >= 0) || math.IsInf(lo, 0) {
		return 0, 0, false
	}
	if bucket {
		loUnit := unit
		b = strings.TrimSpace(b)
		if body, u := splitUnit(strings.TrimSpace(a)); u > 1 { // "512KB-1MB"
			if lo, err = strconv.ParseFloat(body, 64); err != nil {
				return 0, 0, false
			}
			loUnit = u
		}
		if hi, err = strconv.ParseFloat(b, 64); err != nil || !(hi >= 0) || math.IsInf(hi, 0) {
			return 0, 0, false
		}
		lo, hi = lo*loUnit, hi*unit
		if hi < lo {
			return 0, 0, false
		}
		return lo, hi, true
	}
	lo *= unit
	return lo, lo, !math.IsInf(lo, 0)
}

// splitUnit cuts the unit off and returns its factor, 1 if there is none.
func splitUnit(s string) (string, float64) {
	i := len(s)
	for i > 0 && (s[i-1] < '0' || s[i-1] > '9') && s[i-1] != '.' {
		i--
	}
	unit := strings.ToUpper(strings.TrimSpace(s[i:]))
	unit = strings.TrimSuffix(strings.TrimSuffix(unit, "B"), "I")
	switch unit {
	case "":
		return s[:i], 1
	case "K":
		return s[:i], 1 << 10
	case "M":
		return s[:i], 1 << 20
	case "G":
		return s[:i], 1 << 30
	case "T":
		return s[:i], 1 << 40
	}
	return s, 1
}

// sizeClass returns the class of a size label and the bytes that stand for
// it: the middle of the bucket. Text that is no size is its own class.
func sizeClass(s string) (class string, bytes float64) {
	lo, hi, ok := parseSize(s)
	switch {
	case s == "":
		return "", 0
	case !ok:
		if len(s) > 32 {
			s = s[:32]
		}
		return s, 0
	}
	bytes = (lo + hi) / 2
	if hi < 1 {
		return "0", 0
	}
	if lo >= 1 && hi >= 1.9*lo { // a bucket of an octave or more, such as 1-2GB
		return bytesText(lo) + "-" + bytesText(hi), math.Sqrt(lo * hi)
	}
	if bytes < 1 {
		bytes = 1
	}
	return bytesText(math.Exp2(math.Round(4*math.Log2(bytes)) / 4)), bytes
}

// bytesText writes a size with at most three digits and a 1024-based unit.
func bytesText(v float64) string {
	units := "BKMGTPE"
	u := 0
	for v >= 1023.5 && u < len(units)-1 {
		v /= 1024
		u++
	}
	digits := 0
	if v < 9.95 && v != math.Trunc(v) {
		digits = 1
	}
	s := strconv.FormatFloat(v, 'f', digits, 64)
	if u == 0 {
		return s + "B"
	}
	return s + units[u:u+1]
}
