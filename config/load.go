package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
	"github.com/prometheus/prometheus/promql/parser"
)

// maxFile bounds a configuration file. What is larger is something else.
const maxFile = 1 << 20

// credentialsDir in front of a path stands for the folder in which systemd
// puts the credentials of a service.
const credentialsDir = "$CREDENTIALS_DIRECTORY"

// Words are the words that other packages own and that may stand in a
// configuration. An empty list is not checked.
type Words struct {
	Classes, Signals, Dialects, Families, Detectors []string
}

type options struct {
	words         Words
	skipFiles     bool
	withoutSource bool
	getenv        func(string) string
}

// Option changes what Load and Parse check.
type Option func(*options)

// WithWords makes unknown classes, signals, dialects, families and
// detectors a mistake.
func WithWords(w Words) Option { return func(o *options) { o.words = w } }

// SkipFiles leaves files that are named in the configuration alone, for a check
// on another machine than the one it is for.
func SkipFiles() Option { return func(o *options) { o.skipFiles = true } }

// WithoutSource accepts a configuration without a [[source]], for commands that
// query nothing.
func WithoutSource() Option { return func(o *options) { o.withoutSource = true } }

// Load reads and checks a file. All mistakes are in the error, which is an
// Errors unless the file itself cannot be read.
func Load(path string, opts ...Option) (*Config, error) {
	data, err := readBounded(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	cfg, err := parse(path, filepath.Dir(path), data, opts)
	if err != nil {
		return nil, err
	}
	cfg.Path = path
	return cfg, nil
}

// HashFile returns the Hash that a file would have now. Comparing it with the
// one that is running is how a change is found: time stamps and notifications
// miss it where the file is a symbolic link that is exchanged.
func HashFile(path string) (string, error) {
	data, err := readBounded(path)
	if err != nil {
		return "", fmt.Errorf("configuration: %w", err)
	}
	return hash(data), nil
}

// Parse checks a configuration; name stands in messages. Relative paths in it
// start at the working directory.
func Parse(name string, data []byte, opts ...Option) (*Config, error) {
	return parse(name, "", data, opts)
}

// Validate checks a configuration that was made by code.
func (c *Config) Validate(opts ...Option) error {
	return c.validate(newReport("", nil), buildOptions(opts))
}

func parse(name, dir string, data []byte, opts []Option) (*Config, error) {
	if !utf8.Valid(data) {
		return nil, Errors{{File: name, Msg: "is not UTF-8 text"}}
	}
	var raw map[string]any
	if _, err := toml.Decode(string(data), &raw); err != nil {
		return nil, Errors{syntaxError(name, err)}
	}
	cfg := Default()
	r := newReport(name, locate(string(data)))
	o := buildOptions(opts)
	r.bind("", raw, reflect.ValueOf(&cfg).Elem())
	cfg.resolvePaths(dir, o.getenv("CREDENTIALS_DIRECTORY"))
	cfg.setNames(r)
	if err := cfg.validate(r, o); err != nil {
		return nil, err
	}
	cfg.Hash = hash(data)
	return &cfg, nil
}

func buildOptions(opts []Option) options {
	o := options{getenv: os.Getenv}
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

func (c *Config) validate(r *report, o options) error {
	check := &checker{report: r, options: o, promql: parser.NewParser(parser.Options{})}
	check.walk("", reflect.ValueOf(c).Elem())
	check.crossChecks(c)
	if len(r.errs) == 0 {
		return nil
	}
	r.errs.sort()
	return r.errs
}

// syntaxError turns the library's error into one of ours.
func syntaxError(name string, err error) *Error {
	var parse toml.ParseError
	if !errors.As(err, &parse) {
		return &Error{File: name, Msg: strings.TrimPrefix(err.Error(), "toml: ")}
	}
	return &Error{File: name, Line: parse.Position.Line, Column: parse.Position.Col, Msg: parse.Message}
}

// setNames gives sources and targets without a name that of their host.
func (c *Config) setNames(r *report) {
	for i := range c.Sources {
		if s := &c.Sources[i]; s.Name == "" && s.URL.Host() != "" {
			s.Name = s.URL.Host()
			r.name(fmt.Sprintf("source[%d]", i), "source", s.Name)
		}
	}
	for i := range c.Alertmanager.Targets {
		if t := &c.Alertmanager.Targets[i]; t.Name == "" && t.URL.Host() != "" {
			t.Name = t.URL.Host()
			r.name(fmt.Sprintf("alertmanager.target[%d]", i), "alertmanager.target", t.Name)
		}
	}
}

// resolvePaths makes the paths of files that are read start at the
// configuration's folder. Folders that are written to start at the working
// directory.
func (c *Config) resolvePaths(dir, credentials string) {
	eachFile(reflect.ValueOf(c).Elem(), func(path string) string {
		if rest, ok := strings.CutPrefix(path, credentialsDir); ok && credentials != "" {
			return filepath.Join(credentials, rest)
		}
		if path == "" || filepath.IsAbs(path) || strings.HasPrefix(path, credentialsDir) {
			return path
		}
		return filepath.Join(dir, path)
	})
	if m := &c.Incidents.Maintenance; m.File != "" && !filepath.IsAbs(m.File) {
		m.File = filepath.Join(dir, m.File)
	}
}

// eachFile replaces every path that is checked as a file.
func eachFile(v reflect.Value, fn func(string) string) {
	fields(v, func(_, check string, field reflect.Value) {
		isFile := strings.Contains(check, "file") || strings.Contains(check, "glob")
		switch {
		case isTable(field.Type()):
			eachFile(field, fn)
		case field.Kind() == reflect.Slice && isTable(field.Type().Elem()):
			for i := range field.Len() {
				eachFile(field.Index(i), fn)
			}
		case isFile && field.Kind() == reflect.String:
			field.SetString(fn(field.String()))
		case isFile && field.Kind() == reflect.Map:
			for _, key := range field.MapKeys() {
				field.SetMapIndex(key, reflect.ValueOf(fn(field.MapIndex(key).String())))
			}
		}
	})
}

func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s has more than %d bytes: that is no configuration", path, maxFile)
	}
	return data, nil
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
