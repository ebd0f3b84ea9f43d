package config

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// unreadFile lists the keys that are accepted and have no effect yet. It may
// only get shorter: a key that does nothing is a promise that is not kept.
const unreadFile = "testdata/unread.txt"

// TestEveryKeyHasAnEffect looks whether the field of each key is read by any
// file that imports this package. It goes by names, so it can miss a dead key
// whose field has a common name; it does not accuse a living one.
func TestEveryKeyHasAnEffect(t *testing.T) {
	read, allowed := selectedNames(t), unreadKeys(t)

	var unread []string
	walkTables("", reflect.TypeFor[Config](), func(path string, typ reflect.Type) {
		for f := range typ.Fields() {
			key := f.Tag.Get("toml")
			// What lies in a client's settings is read by this package's own mapping.
			if key == "" || key == "-" || holdsTables(f.Type) || read[f.Name] || strings.Contains(path, "oauth2") || strings.Contains(path, ".tls") {
				continue
			}
			unread = append(unread, join(path, key))
		}
	})
	if *update {
		require.NoError(t, os.WriteFile(unreadFile, []byte(strings.Join(unread, "\n")+"\n"), 0o644))
		return
	}
	for _, key := range unread {
		if !allowed[key] {
			t.Errorf("nothing reads %s: give it an effect or remove it", key)
		}
	}
}

// unreadKeys are the keys of unreadFile.
func unreadKeys(t *testing.T) map[string]bool {
	t.Helper()
	list, err := os.ReadFile(unreadFile)
	require.NoError(t, err)
	keys := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		keys[strings.TrimSpace(line)] = true
	}
	return keys
}

// holdsTables says that a field is a table, or a list or map of them: its keys
// count, not itself.
func holdsTables(t reflect.Type) bool {
	return isTable(t) || ((t.Kind() == reflect.Slice || t.Kind() == reflect.Map) && isTable(t.Elem()))
}

// selectedNames returns the names that are selected (as in x.Name) in files
// of packages that import this one, and in its own accessors.
func selectedNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	byFolder, importing := map[string]map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && (name == "testdata" || name == "dist" || name == "bin" || (strings.HasPrefix(name, ".") && name != "..")) {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		mapping := filepath.Dir(path) == filepath.Join("..", "config") && (name == "client.go" || name == "slack.go" || name == "global.go")
		folder := filepath.Dir(path)
		for _, spec := range file.Imports {
			importing[folder] = importing[folder] || spec.Path.Value == `"github.com/collwatch/collwatch/config"`
		}
		if folder == filepath.Join("..", "config") && !mapping {
			return nil
		}
		importing[folder] = importing[folder] || mapping
		if byFolder[folder] == nil {
			byFolder[folder] = map[string]bool{}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				byFolder[folder][sel.Sel.Name] = true
			}
			return true
		})
		return nil
	})
	require.NoError(t, err)
	for folder, selected := range byFolder {
		if importing[folder] {
			maps.Copy(names, selected)
		}
	}
	return names
}
