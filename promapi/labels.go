package promapi

import "strings"

// Label is one name and value of a series.
type Label struct{ Name, Value string }

// Labels is a label set sorted by name.
type Labels []Label

// Get returns the value of name, or "" if there is none.
func (ls Labels) Get(name string) string {
	for i := range ls {
		if ls[i].Name == name {
			return ls[i].Value
		}
	}
	return ""
}

// Has says whether name is present, even with an empty value.
func (ls Labels) Has(name string) bool {
	for i := range ls {
		if ls[i].Name == name {
			return true
		}
	}
	return false
}

// String renders the set as a PromQL selector, for messages only.
func (ls Labels) String() string {
	var b strings.Builder
	b.WriteString(ls.Get("__name__"))
	b.WriteByte('{')
	sep := ""
	for _, l := range ls {
		if l.Name == "__name__" {
			continue
		}
		b.WriteString(sep)
		sep = ","
		b.WriteString(l.Name)
		b.WriteString(`="`)
		b.WriteString(escaper.Replace(l.Value))
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}

var escaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
