package topology

import (
	"cmp"
	"strconv"
)

// natural orders names so that mlx5_2 comes before mlx5_10.
func natural(a, b string) int {
	for a != "" && b != "" {
		ad, bd := digits(a), digits(b)
		if ad > 0 && bd > 0 {
			an, aerr := strconv.Atoi(a[:ad])
			bn, berr := strconv.Atoi(b[:bd])
			if aerr == nil && berr == nil && an != bn {
				return an - bn
			}
			if c := cmp.Compare(a[:ad], b[:bd]); c != 0 {
				return c
			}
			a, b = a[ad:], b[bd:]
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
