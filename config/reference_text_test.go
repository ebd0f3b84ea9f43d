package config

import (
	"fmt"
	"strings"
)

const exampleHead = `# Configuration of collwatch: every key with its default.
#
# Lines that start with "# " explain. Lines that start with "#" and a key are
# that key's default: remove the "#" to change it. One [[source]] and one
# [[alertmanager.target]] are all that is needed.
#
# Durations are written with units ("90s", "5m", "1h30m", "7d"), sizes too
# ("256MB", "64KiB"). Secrets can stand here, but are better kept in files, which
# are read again when they change. Relative paths of files start at this file's
# folder; $CREDENTIALS_DIRECTORY/NAME is a credential that systemd loaded.
#
# Made from the source of the package config: go test ./config -update
`

// example writes config.example.toml.
func example(all []table) string {
	var b strings.Builder
	b.WriteString(exampleHead)
	for _, t := range all {
		mark, header := "", "["+t.path+"]"
		if t.list {
			header = "[[" + t.path + "]]"
		}
		if t.optional {
			mark = "#"
		}
		b.WriteString("\n")
		comment(&b, t.doc)
		fmt.Fprintf(&b, "%s%s\n", mark, header)
		for _, k := range t.keys {
			doc := k.doc
			if len(k.words) > 0 {
				doc += " One of: " + strings.Join(k.words, ", ") + "."
			}
			comment(&b, doc)
			switch {
			case k.example != "" && !t.optional:
				fmt.Fprintf(&b, "%s = %q\n", k.name, k.example)
			case k.example != "":
				fmt.Fprintf(&b, "#%s = %q\n", k.name, k.example)
			default:
				fmt.Fprintf(&b, "#%s = %s\n", k.name, k.value)
			}
		}
	}
	return b.String()
}

// comment wraps a text at 100 columns.
func comment(b *strings.Builder, text string) {
	line := "#"
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > 100 {
			b.WriteString(line + "\n")
			line = "#"
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}

const referenceHead = `# Configuration

collwatch reads one TOML file. A file with one source and one Alertmanager is complete:

` + "```toml" + `
[[source]]
url = "http://prometheus:9090"

[[alertmanager.target]]
url = "http://alertmanager:9093"
` + "```" + `

` + "`collwatch check-config --config FILE`" + ` reports all mistakes at once, each with line and column, and exits with 2 if there are any.
SIGHUP and ` + "`POST /-/reload`" + ` read the file again; a file with mistakes leaves the running configuration alone.
[config.example.toml](../config.example.toml) has every key with its default.

- **Durations** are strings with units: ` + "`\"90s\"`, `\"5m\"`, `\"1h30m\"`, `\"7d\"`" + `. A bare number is a mistake.
- **Sizes** are strings with units: ` + "`\"256MB\"`" + ` (powers of 1000), ` + "`\"64KiB\"`" + ` (powers of 1024).
- **Secrets** can stand in the file, but are better kept in files of their own (keys ending in ` + "`_file`" + `), which are read again
  when they change. Secrets are masked in logs, errors and on the status page.
- **Paths** of files that are read start at the configuration's folder; ` + "`state_dir` and `rules.dir`" + `, which are written to, start at the
  working directory. ` + "`$CREDENTIALS_DIRECTORY/NAME`" + ` is a credential that systemd loaded for the service.
- Tables in double brackets, such as ` + "`[[source]]`" + `, may stand several times.

This page is made from the source of the package ` + "`config`" + `.
`

// reference writes docs/configuration.md.
func reference(all []table) string {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, t := range all {
		header := "[" + strings.ReplaceAll(t.path, ".link_flap", ".NAME") + "]"
		if t.list {
			header = "[" + header + "]"
		}
		level := "##"
		if strings.Contains(t.path, ".") {
			level = "###"
		}
		fmt.Fprintf(&b, "\n%s `%s`\n\n%s\n", level, header, t.doc)
		if len(t.keys) == 0 {
			continue
		}
		b.WriteString("\n| key | type | default | meaning |\n| --- | --- | --- | --- |\n")
		for _, k := range t.keys {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.name, k.typ, shown(k), meaning(k))
		}
	}
	return b.String()
}

func shown(k key) string {
	switch k.value {
	case `""`, "[]", "{}":
		if k.example != "" {
			return "needed, such as `" + k.example + "`"
		}
		return "–"
	}
	return "`" + k.value + "`"
}

func meaning(k key) string {
	s := strings.ReplaceAll(k.doc, "|", `\|`)
	if len(k.words) > 0 {
		s += " One of `" + strings.Join(k.words, "`, `") + "`."
	}
	return s
}
