package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// unknown reports a key that no field has, with the key that was probably
// meant.
func (r *report) unknown(path, key string, known map[string]reflect.Value) {
	what, hint := "key", ""
	if path == "" {
		what = "table"
	}
	if join(path, key) == "rules.target" {
		hint = `: what the flag --target says is the key "profile"`
	} else if near := nearest(key, sortedKeys(known)); near != "" {
		hint = fmt.Sprintf(", did you mean %q?", near)
	} else if table := tableWith(key, path); table != "" {
		hint = fmt.Sprintf(": it belongs to [%s]", table)
	}
	r.addAt(join(path, key), r.display(path), "", "unknown %s %q%s", what, key, hint)
}

var indexes = regexp.MustCompile(`\[\d+\]`)

// tableWith returns the table that has a key of this name: one inside path, if
// there is any, else the only one; "" if that is not clear.
func tableWith(key, path string) string {
	path = indexes.ReplaceAllString(path, "")
	var inside, all []string
	walkTables("", reflect.TypeFor[Config](), func(table string, t reflect.Type) {
		found := false
		fields(reflect.New(t).Elem(), func(k, _ string, _ reflect.Value) { found = found || k == key })
		if !found || table == "" {
			return
		}
		all = append(all, table)
		if path != "" && strings.HasPrefix(table, path+".") {
			inside = append(inside, table)
		}
	})
	switch {
	case len(inside) > 0:
		return slices.MinFunc(inside, func(a, b string) int { return len(a) - len(b) })
	case len(all) > 0 && (len(all) == 1 || path == ""):
		return all[0]
	default:
		return ""
	}
}

// walkTables calls fn for each table, outer ones first. The elements of a list
// have the list's path, those of a map end in ".NAME".
func walkTables(path string, t reflect.Type, fn func(path string, t reflect.Type)) {
	fn(path, t)
	fields(reflect.New(t).Elem(), func(key, _ string, field reflect.Value) {
		switch ft := field.Type(); {
		case isTable(ft):
			walkTables(join(path, key), ft, fn)
		case (ft.Kind() == reflect.Slice) && isTable(ft.Elem()):
			walkTables(join(path, key), ft.Elem(), fn)
		case ft.Kind() == reflect.Map && isTable(ft.Elem()):
			walkTables(join(path, key)+".NAME", ft.Elem(), fn)
		}
	})
}

// isTable says that a type is read from a table and not from a string.
func isTable(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	switch reflect.New(t).Interface().(type) {
	case *URL, *Shard:
		return false
	}
	return true
}

// maxWord bounds the words that are compared: the cost is the product of the
// lengths.
const maxWord = 64

// nearest returns the word that word was probably meant to be, or "".
func nearest(word string, words []string) string {
	if len(word) > maxWord {
		return ""
	}
	type candidate struct {
		word     string
		distance int
	}
	var all []candidate
	for _, w := range words {
		all = append(all, candidate{w, distance(strings.ToLower(word), w)})
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].distance < all[j].distance })
	if len(all) > 0 && all[0].distance <= max(1, len(word)/3) {
		return all[0].word
	}
	return ""
}

// distance is the number of letters to insert, remove, replace or exchange
// with their neighbour (Damerau and Levenshtein's, in its restricted form).
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	rows := make([][]int, len(s)+1)
	for i := range rows {
		rows[i] = make([]int, len(t)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(s); i++ {
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(s)][len(t)]
}
