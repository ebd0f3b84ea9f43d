package config

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write golden files, config.example.toml and docs/configuration.md anew")

const (
	exampleFile   = "../config.example.toml"
	referenceFile = "../docs/configuration.md"
)

// key is one key of one table, as the reference shows it.
type key struct {
	name, doc, value, example string
	words                     []string
	typ                       string
}

// table is one table with all keys.
type table struct {
	path, doc string
	list      bool
	optional  bool // a table that is shown, but commented out
	keys      []key
}

// tables lists all tables in the order of the struct fields.
func tables(t *testing.T) []table {
	t.Helper()
	docs, unread := fieldDocs(t), unreadKeys(t)
	var out []table
	var walk func(path, doc string, list, optional bool, typ reflect.Type)
	walk = func(path, doc string, list, optional bool, typ reflect.Type) {
		value := reflect.New(typ)
		if d, ok := reflect.TypeAssert[defaulter](value); ok {
			d.setDefaults()
		}
		at := len(out)
		out = append(out, table{path: path, doc: doc, list: list, optional: optional})
		fieldsWithDocs(value.Elem(), docs, func(f reflect.StructField, doc string, v reflect.Value) {
			name := f.Tag.Get("toml")
			inner := join(path, name)
			switch {
			case isTable(v.Type()):
				walk(inner, doc, false, optional, v.Type())
			case v.Kind() == reflect.Slice && isTable(v.Type().Elem()):
				walk(inner, doc, true, optional || (inner != "source" && inner != "alertmanager.target"), v.Type().Elem())
			case v.Kind() == reflect.Map && isTable(v.Type().Elem()):
				walk(inner+".link_flap", doc, false, true, v.Type().Elem())
			default:
				if unread[strings.ReplaceAll(inner, ".link_flap", ".NAME")] {
					doc += " Not in effect yet."
				}
				out[at].keys = append(out[at].keys, newKey(f, doc, v))
			}
		})
	}
	walk("", "", false, false, reflect.TypeFor[Config]())
	// Defaults that lie in an inner table are set by the outer type.
	return withDefaults(out[1:])
}

// withDefaults takes the values of plain tables from Default, and those inside
// lists from the element's own defaults.
func withDefaults(all []table) []table {
	def := Default()
	source, target := Source{}, Target{}
	source.setDefaults()
	target.setDefaults()
	roots := []struct {
		path  string
		value reflect.Value
	}{
		{"source", reflect.ValueOf(&source).Elem()},
		{"alertmanager.target", reflect.ValueOf(&target).Elem()},
		{"", reflect.ValueOf(&def).Elem()},
	}
	for i := range all {
		for j := range all[i].keys {
			for _, root := range roots {
				rest, ok := strings.CutPrefix(join(all[i].path, all[i].keys[j].name), root.path)
				if !ok {
					continue
				}
				if v, ok := lookup(root.value, strings.TrimPrefix(rest, ".")); ok {
					all[i].keys[j].value = literal(v)
				}
				break
			}
		}
	}
	return all
}

func lookup(v reflect.Value, path string) (reflect.Value, bool) {
	head, rest, more := strings.Cut(path, ".")
	var found reflect.Value
	fields(v, func(name, _ string, field reflect.Value) {
		if name == head {
			found = field
		}
	})
	switch {
	case !found.IsValid():
		return found, false
	case !more:
		return found, true
	case found.Kind() != reflect.Struct:
		return found, false
	default:
		return lookup(found, rest)
	}
}

func newKey(f reflect.StructField, doc string, v reflect.Value) key {
	k := key{name: f.Tag.Get("toml"), doc: doc, value: literal(v), example: f.Tag.Get("example"), typ: typeWord(v.Type())}
	for rule := range strings.SplitSeq(f.Tag.Get("check"), ",") {
		if words, ok := strings.CutPrefix(rule, "oneof="); ok {
			k.words = strings.Split(strings.TrimPrefix(words, "|"), "|")
		}
	}
	return k
}

func typeWord(t reflect.Type) string {
	switch reflect.New(t).Elem().Interface().(type) {
	case Duration:
		return "duration"
	case Size:
		return "size"
	case URL:
		return "URL"
	case Secret:
		return "secret"
	case Shard:
		return "shard"
	}
	switch t.Kind() {
	case reflect.Slice:
		return "list of " + typeWord(t.Elem()) + "s"
	case reflect.Map:
		if t.Elem().Kind() == reflect.Slice {
			return "table of " + typeWord(t.Elem())
		}
		return "table of " + typeWord(t.Elem()) + "s"
	case reflect.Int, reflect.Float64:
		return "number"
	default:
		return t.Kind().String()
	}
}

// literal writes a value as TOML.
func literal(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case fmt.Stringer:
		return strconv.Quote(x.String())
	case string:
		return strconv.Quote(x)
	case []string:
		quotes := make([]string, len(x))
		for i, s := range x {
			quotes[i] = strconv.Quote(s)
		}
		return "[" + strings.Join(quotes, ", ") + "]"
	}
	switch v.Kind() {
	case reflect.Slice:
		return "[]"
	case reflect.Map:
		return "{}"
	default:
		return fmt.Sprint(v.Interface())
	}
}

func fieldsWithDocs(v reflect.Value, docs map[string]string, fn func(f reflect.StructField, doc string, v reflect.Value)) {
	typ := v.Type()
	for i := range typ.NumField() {
		f := typ.Field(i)
		switch {
		case f.Anonymous:
			fieldsWithDocs(v.Field(i), docs, fn)
		case f.Tag.Get("toml") != "" && f.Tag.Get("toml") != "-":
			fn(f, docs[typ.Name()+"."+f.Name], v.Field(i))
		}
	}
}

// fieldDocs reads the comments of all struct fields of this package.
func fieldDocs(t *testing.T) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	docs := map[string]string{}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), nil, parser.ParseComments)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range s.Fields.List {
					for _, name := range f.Names {
						docs[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
					}
				}
			}
			return true
		})
	}
	return docs
}

func TestEveryKeyIsExplained(t *testing.T) {
	for _, table := range tables(t) {
		require.NotEmpty(t, table.doc, "table %s has no comment", table.path)
		for _, k := range table.keys {
			require.NotEmpty(t, k.doc, "%s.%s has no comment", table.path, k.name)
			require.True(t, strings.HasSuffix(k.doc, "."), "%s.%s: the comment is no sentence", table.path, k.name)
		}
	}
}

func TestReferenceIsCurrent(t *testing.T) {
	golden(t, referenceFile, reference(tables(t)))
}

func TestExampleIsCurrent(t *testing.T) {
	golden(t, exampleFile, example(tables(t)))
}

// golden compares with a file, or writes it with -update.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s is not current: run go test ./config -update\n%s", path, diff)
	}
}
