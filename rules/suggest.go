package rules

import "strings"

// suggest returns ", did you mean X?" where a name is close to a known one.
func suggest(name string, known []string) string {
	if near := nearest(name, known); near != "" {
		return ", did you mean " + near + "?"
	}
	return ""
}

// nearest is the known name with the least edits, "" if all need more than a
// third of the name's length.
func nearest(name string, known []string) string {
	best, least := "", len(name)/3+1
	for _, k := range known {
		if d := len(k) - len(name); d > least || -d > least {
			continue
		}
		if n := edits(name, k, least); n < least {
			best, least = k, n
		}
	}
	return best
}

// edits is the Levenshtein distance, or limit if it is not below.
func edits(a, b string, limit int) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal, least := row[0], i+1
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
			least = min(least, cost)
		}
		if least >= limit {
			return limit
		}
	}
	return min(row[len(b)], limit)
}

func list(names []string) string { return strings.Join(names, ", ") }
