package config

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"sort"
	"strings"
)

// defaulter is a type with defaults, for the elements of lists and maps.
type defaulter interface{ setDefaults() }

// bind fills a struct from decoded TOML and reports every key that is unknown
// or of the wrong type. Keys that are absent leave the defaults alone. The TOML
// library could fill the struct itself, but stops at the first mistake and
// takes an integer for a duration in nanoseconds.
func (r *report) bind(path string, data map[string]any, v reflect.Value) {
	known := map[string]reflect.Value{}
	fields(v, func(key, _ string, field reflect.Value) { known[key] = field })
	for _, key := range sortedKeys(data) {
		field, ok := known[key]
		if !ok {
			r.unknown(path, key, known)
			continue
		}
		r.set(join(path, key), data[key], field)
	}
}

// fields calls fn for each field with a key, those of embedded structs
// included.
func fields(v reflect.Value, fn func(key, check string, field reflect.Value)) {
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		key := f.Tag.Get("toml")
		switch {
		case f.Anonymous:
			fields(v.Field(i), fn)
		case key != "" && key != "-":
			fn(key, f.Tag.Get("check"), v.Field(i))
		}
	}
}

// set puts one value into one field.
func (r *report) set(path string, data any, v reflect.Value) {
	if text, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); ok {
		r.setText(path, data, v, text)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if table, ok := data.(map[string]any); ok {
			r.bind(path, table, v)
			return
		}
		r.wrong(path, "a table", data)
	case reflect.Slice:
		r.setSlice(path, data, v)
	case reflect.Map:
		r.setMap(path, data, v)
	default:
		r.setScalar(path, data, v)
	}
}

func (r *report) setText(path string, data any, v reflect.Value, text encoding.TextUnmarshaler) {
	s, ok := data.(string)
	if !ok {
		switch v.Interface().(type) {
		case Duration:
			r.failed[path] = true
			if n, isInt := data.(int64); isInt {
				r.add(path, "has no unit: write \"%ds\" or \"%dm\" in quotes", n, n)
				return
			}
			r.add(path, "must be a duration in quotes, such as \"30s\", got %s", typeName(data))
		case Size:
			r.wrong(path, `a size in quotes, such as "256MB"`, data)
		default:
			r.wrong(path, "a string", data)
		}
		return
	}
	if err := text.UnmarshalText([]byte(s)); err != nil {
		r.failed[path] = true
		if strings.HasPrefix(err.Error(), "is ") {
			r.add(path, "%v", err)
			return
		}
		r.add(path, "is wrong: %v", err)
	}
}

func (r *report) setScalar(path string, data any, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if s, ok := data.(string); ok {
			v.SetString(s)
			return
		}
		r.wrong(path, "a string", data)
	case reflect.Bool:
		if b, ok := data.(bool); ok {
			v.SetBool(b)
			return
		}
		r.wrong(path, "true or false", data)
	case reflect.Int:
		if n, ok := data.(int64); ok && int64(int(n)) == n {
			v.SetInt(n)
			return
		}
		r.wrong(path, "a whole number", data)
	case reflect.Float64:
		switch n := data.(type) {
		case int64:
			v.SetFloat(float64(n))
		case float64:
			if math.IsNaN(n) || math.IsInf(n, 0) {
				r.failed[path] = true
				r.add(path, "must be a finite number, got %v", n)
				return
			}
			v.SetFloat(n)
		default:
			r.wrong(path, "a number", data)
		}
	default:
		panic(fmt.Sprintf("config: field %s has the unsupported type %s", path, v.Type()))
	}
}

func (r *report) setSlice(path string, data any, v reflect.Value) {
	var elements []any
	switch list := data.(type) {
	case []any:
		elements = list
	case []map[string]any:
		for _, table := range list {
			elements = append(elements, table)
		}
	default:
		if v.Type().Elem().Kind() == reflect.Struct {
			_, key := cutLast(path)
			r.wrong(path, fmt.Sprintf("a list of tables: write [[%s]]", strings.TrimSuffix(key, "[]")), data)
			return
		}
		r.wrong(path, "a list", data)
		return
	}
	if len(elements) == 0 {
		v.SetZero()
		return
	}
	out := reflect.MakeSlice(v.Type(), len(elements), len(elements))
	for i, element := range elements {
		at := fmt.Sprintf("%s[%d]", path, i)
		e := out.Index(i)
		if d, ok := reflect.TypeAssert[defaulter](e.Addr()); ok {
			d.setDefaults()
		}
		if table, ok := element.(map[string]any); ok {
			if name, ok := table["name"].(string); ok {
				r.name(at, path, name)
			}
		}
		r.set(at, element, e)
	}
	v.Set(out)
}

func (r *report) setMap(path string, data any, v reflect.Value) {
	table, ok := data.(map[string]any)
	if !ok {
		r.wrong(path, "a table", data)
		return
	}
	if len(table) == 0 {
		v.SetZero()
		return
	}
	out := reflect.MakeMap(v.Type())
	for _, key := range sortedKeys(table) {
		e := reflect.New(v.Type().Elem()).Elem()
		if d, ok := reflect.TypeAssert[defaulter](e.Addr()); ok {
			d.setDefaults()
		}
		r.set(join(path, key), table[key], e)
		out.SetMapIndex(reflect.ValueOf(key), e)
	}
	v.Set(out)
}

// name says what an element of a list is called in messages.
func (r *report) name(at, path, name string) { r.names[at] = fmt.Sprintf("%s %q", path, name) }

func (r *report) wrong(path, want string, data any) {
	r.failed[path] = true
	r.add(path, "must be %s, got %s", want, typeName(data))
}

// typeName says what a value is, never the value: it may be a secret.
func typeName(data any) string {
	switch data.(type) {
	case string:
		return "a string"
	case int64:
		return "a whole number"
	case float64:
		return "a number"
	case bool:
		return "true or false"
	case map[string]any:
		return "a table"
	case []any, []map[string]any:
		return "a list"
	default:
		return "a date or time"
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
