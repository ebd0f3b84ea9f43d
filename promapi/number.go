package promapi

import (
	"math"
	"strconv"
	"unsafe"
)

// pow10 holds the powers of ten that a float64 represents exactly.
var pow10 = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// decimal reads an optional minus sign, digits and an optional fraction, of at
// most 18 digits together. ok is false if b is anything else.
func decimal(b []byte) (mantissa uint64, fraction int, negative, ok bool) {
	i := 0
	if len(b) > 0 && b[0] == '-' {
		negative, i = true, 1
	}
	first := i
	for i < len(b) && b[i]-'0' <= 9 {
		mantissa = mantissa*10 + uint64(b[i]-'0')
		i++
	}
	digits := i - first
	if digits == 0 {
		return 0, 0, false, false
	}
	if i < len(b) && b[i] == '.' {
		i++
		first = i
		for i < len(b) && b[i]-'0' <= 9 {
			mantissa = mantissa*10 + uint64(b[i]-'0')
			i++
		}
		fraction = i - first
		digits += fraction
		if fraction == 0 {
			return 0, 0, false, false
		}
	}
	return mantissa, fraction, negative, i == len(b) && digits <= 18
}

// parseValue reads a sample value as Prometheus writes it, without allocating.
func parseValue(b []byte) (float64, bool) {
	m, frac, neg, ok := decimal(b)
	// Both numbers are exact, so the quotient is rounded once, as it should be
	// (Clinger, How to read floating point numbers accurately, 1990).
	if ok && m < 1<<53 && frac < len(pow10) {
		v := float64(m) / pow10[frac]
		if neg {
			v = -v
		}
		return v, true
	}
	v, err := strconv.ParseFloat(bytesAsString(b), 64)
	return v, err == nil
}

// maxSeconds bounds timestamps to what is exact in milliseconds.
const maxSeconds = 1 << 53 / 1000

// parseTime reads a timestamp in seconds and returns milliseconds, rounded to
// nearest.
func parseTime(b []byte) (int64, bool) {
	m, frac, neg, ok := decimal(b)
	if ok && frac <= 3 && m < maxSeconds {
		for ; frac < 3; frac++ {
			m *= 10
		}
		if neg {
			return -int64(m), true
		}
		return int64(m), true
	}
	v, err := strconv.ParseFloat(bytesAsString(b), 64)
	if err != nil || !(math.Abs(v) < maxSeconds) {
		return 0, false
	}
	return int64(math.Round(v * 1000)), true
}

// bytesAsString shares the memory of b, which must not change while the string
// is in use.
func bytesAsString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) } //nolint:gosec // see above
