package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/alertmanager/pkg/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// checker judges values by the check tags of their fields.
type checker struct {
	*report
	options
	promql parser.Parser
}

// walk checks all fields of a table and of the tables in it.
func (c *checker) walk(path string, v reflect.Value) {
	fields(v, func(key, check string, field reflect.Value) {
		at := join(path, key)
		if c.failed[at] {
			return
		}
		for rule := range strings.SplitSeq(check, ",") {
			if rule != "" && !c.check(at, rule, field) {
				return
			}
		}
		switch {
		case isTable(field.Type()):
			c.walk(at, field)
		case field.Kind() == reflect.Slice && isTable(field.Type().Elem()):
			for i := range field.Len() {
				c.walk(fmt.Sprintf("%s[%d]", at, i), field.Index(i))
			}
		case field.Kind() == reflect.Map && isTable(field.Type().Elem()):
			for _, k := range field.MapKeys() {
				c.walk(join(at, k.String()), field.MapIndex(k))
			}
		}
	})
}

// check applies one rule to one field and says whether the others are worth
// applying.
func (c *checker) check(at, rule string, v reflect.Value) bool {
	before := len(c.errs)
	name, arg, _ := strings.Cut(rule, "=")
	switch name {
	case "required":
		if v.IsZero() {
			c.add(at, "is missing")
		}
	case "positive", "nonneg", "one", "ratio":
		c.number(at, name, v)
	default:
		c.texts(at, v, name == "label" || name == "class" || name == "severity", func(at, s string) {
			if s != "" || name == "label" || name == "oneof" {
				c.text(at, name, arg, s)
			}
		})
	}
	return len(c.errs) == before
}

func (c *checker) number(at, rule string, v reflect.Value) {
	var n float64
	if v.CanInt() {
		n = float64(v.Int())
	} else {
		n = v.Float()
	}
	got := fmt.Sprintf("%v", v.Interface())
	switch {
	case rule == "positive" && n <= 0:
		c.add(at, "must be above 0, got %s", got)
	case rule == "nonneg" && n < 0:
		c.add(at, "must not be negative, got %s", got)
	case rule == "one" && n < 1:
		c.add(at, "must be 1 or more, got %s", got)
	case rule == "ratio" && (n < 0 || n > 1):
		c.add(at, "must be between 0 and 1, got %s", got)
	}
}

// texts calls fn for a string, each string of a list, or each key or value of a
// map.
func (c *checker) texts(at string, v reflect.Value, keys bool, fn func(at, s string)) {
	switch v.Kind() {
	case reflect.String:
		if v.Len() > 0 || !keys {
			fn(at, v.String())
		}
	case reflect.Slice:
		for i := range v.Len() {
			fn(fmt.Sprintf("%s[%d]", at, i), v.Index(i).String())
		}
	case reflect.Map:
		names := make([]string, 0, v.Len())
		for _, k := range v.MapKeys() {
			names = append(names, k.String())
		}
		slices.Sort(names)
		for _, k := range names {
			if keys {
				fn(join(at, k), k)
			} else {
				fn(join(at, k), v.MapIndex(reflect.ValueOf(k)).String())
			}
		}
	}
}

var wordForm = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// text applies one rule to one string.
func (c *checker) text(at, rule, arg, s string) {
	switch rule {
	case "oneof":
		c.oneOf(at, s, strings.Split(arg, "|"))
	case "class":
		c.word(at, s, c.words.Classes)
	case "severity":
		c.oneOf(at, s, severities)
	case "word":
		if !wordForm.MatchString(s) {
			c.add(at, "must be lower case letters, digits and underscores, got %q", s)
		}
	case "label":
		if s == "" || !utf8.ValidString(s) || strings.ContainsAny(s, " \t\n") || strings.HasPrefix(s, "__") {
			c.add(at, "is not a label name: %q", s)
		}
	case "matcher":
		if _, err := labels.ParseMatcher(s); err != nil {
			c.add(at, "is not a matcher such as 'severity=\"critical\"': %v", err)
		}
	case "promql":
		if _, err := c.promql.ParseExpr(s); err != nil {
			c.add(at, "is not PromQL: %v", err)
		}
	case "file":
		c.file(at, s)
	case "glob":
		c.glob(at, s)
	default:
		panic(fmt.Sprintf("config: field %s has the unknown check %q", at, rule))
	}
}

// longList is where a list of names is no help any more: only signals are so
// many.
const longList = 50

func (c *checker) oneOf(at, s string, words []string) {
	if slices.Contains(words, s) {
		return
	}
	shown := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "" })
	if near := nearest(s, shown); near != "" {
		c.add(at, "is unknown: %q, did you mean %q?", s, near)
		return
	}
	if len(shown) > longList {
		c.add(at, "is unknown: %q, and none of the %d known names is like it; collwatch coverage lists them", s, len(shown))
		return
	}
	c.add(at, "is unknown: %q; it can be %s", s, strings.Join(shown, ", "))
}

// file checks that a file can be read.
func (c *checker) file(at, path string) {
	if c.skipFiles {
		return
	}
	if strings.HasPrefix(path, credentialsDir) {
		c.add(at, "uses $CREDENTIALS_DIRECTORY, which is not set: systemd sets it for a service with LoadCredential")
		return
	}
	f, err := os.Open(path)
	if err != nil {
		c.add(at, "cannot be read: %v", err)
		return
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		c.add(at, "is a folder: %s", path)
	}
}

// glob checks that a path, or a pattern, names at least one file.
func (c *checker) glob(at, pattern string) {
	if !strings.ContainsAny(pattern, "*?[") {
		c.file(at, pattern)
		return
	}
	found, err := filepath.Glob(pattern)
	switch {
	case err != nil:
		c.add(at, "is not a pattern for file names: %v", err)
	case len(found) == 0 && !c.skipFiles:
		c.add(at, "matches no file: %s", pattern)
	}
}
