package signals

import (
	"slices"
	"strings"
)

// JobLabels lists the labels that name a job in any dialect, in alphabetical
// order: whoever looks for a job's series must look at all of them, because
// relations name a job by other labels than collectives do.
func JobLabels() []string {
	return labelsOf(podJobLabels(), func(c Columns) string { return c.Job })
}

// HostLabels lists the labels that name a host in any dialect, in alphabetical
// order.
func HostLabels() []string {
	return labelsOf(nil, func(c Columns) string { return c.Host })
}

func labelsOf(out []string, column func(Columns) string) []string {
	add := func(c Columns) {
		for _, l := range strings.FieldsFunc(column(c), func(r rune) bool { return r == '|' || r == '+' }) {
			if l != "-" {
				out = append(out, l)
			}
		}
	}
	for _, d := range Catalogue() {
		add(d.Columns)
		for _, r := range d.Rules {
			add(r.Columns)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
