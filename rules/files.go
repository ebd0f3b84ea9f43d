package rules

import (
	"regexp"
	"slices"
	"strings"
)

// ruleFile is one file of rules: the normalised series of a level, or a class.
type ruleFile struct {
	name   string // "signals-nic_port", or the class
	groups []group
}

func (f ruleFile) file() string { return "collwatch-" + f.name + ".yaml" }

// filesOf puts each group into a file of its own, so that a site can take
// single classes.
func filesOf(signalGroups, classes []group, limit int) []ruleFile {
	var out []ruleFile
	for _, g := range append(slices.Clip(signalGroups), classes...) {
		name := strings.ReplaceAll(strings.TrimPrefix(g.name, "collwatch."), ".", "-")
		out = append(out, ruleFile{name, split([]group{g}, limit)})
	}
	return out
}

// merged is all groups in one file.
func merged(files []ruleFile) ruleFile {
	one := ruleFile{name: "rules"}
	for _, f := range files {
		one.groups = append(one.groups, f.groups...)
	}
	return one
}

var recordedName = regexp.MustCompile(`[a-z_]+:[a-z0-9_]+:[a-z0-9_]+`)

// closure lists the files that a class needs: those of the signals that it
// reads, directly or through others, and its own.
func closure(class string, files []ruleFile) []ruleFile {
	home := map[string]int{}
	own := 0
	for i, f := range files {
		if f.name == class {
			own = i
		}
		for _, g := range f.groups {
			for _, r := range g.rules {
				if r.record != "" {
					home[r.record] = i
				}
			}
		}
	}
	need := map[int]bool{}
	var walk func(i int)
	walk = func(i int) {
		if need[i] {
			return
		}
		need[i] = true
		for _, g := range files[i].groups {
			for _, r := range g.rules {
				for _, name := range recordedName.FindAllString(r.expr, -1) {
					if j, ok := home[name]; ok {
						walk(j)
					}
				}
			}
		}
	}
	walk(own)
	var out []ruleFile
	for i, f := range files {
		if need[i] {
			out = append(out, f)
		}
	}
	return out
}
