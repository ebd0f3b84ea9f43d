package signals

import "fmt"

// DebugNotes shows the counts of unused samples.
func DebugNotes(r *Reader) string {
	s := ""
	for n, v := range r.stats.notes {
		s += fmt.Sprint(noteNames[n], " ", v, "; ")
	}
	return s
}
