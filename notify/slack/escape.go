package slack

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
)

// units is the length of a text in UTF-16 units, the strictest of the ways in
// which Slack's clients count characters.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// escape makes text safe for mrkdwn and cuts it, after escaping and between
// runes, at a number of UTF-16 units. Only &, < and > have to be escaped; a code
// block that is never closed would swallow what follows, so there is none.
func escape(s string, limit int) string {
	s = strings.ReplaceAll(s, "```", "'''")
	var b strings.Builder
	n, full := 0, false
	keep, kept := 0, 0 // where to cut so that the dots fit
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		part := string(r)
		switch r {
		case '&':
			part = "&amp;"
		case '<':
			part = "&lt;"
		case '>':
			part = "&gt;"
		}
		size := units(part)
		if n+size > limit {
			full = true
			break
		}
		if n+size < limit {
			keep = b.Len() + len(part)
			kept = n + size
		}
		b.WriteString(part)
		n += size
	}
	if !full {
		return b.String()
	}
	if kept == 0 {
		return ""
	}
	return b.String()[:keep] + "…"
}

// cut cuts plain text between runes.
func cut(s string, limit int) string {
	if units(s) <= limit {
		return s
	}
	n := 0
	for i, r := range s {
		n += utf16.RuneLen(r)
		if n > limit-1 {
			return strings.TrimRight(s[:i], " ,:") + "…"
		}
	}
	return s
}

// plain is text for a header, where Slack takes no escapes for granted: the
// three characters are replaced by others.
func plain(s string, limit int) string {
	return cut(strings.NewReplacer("<", "‹", ">", "›", "&", "+").Replace(s), limit)
}

// oneLine drops what could break a layout: line breaks, control characters and
// broken UTF-8.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.TrimSpace(s)
}

// code is a code block, or "" if the text does not fit whole: a command that is
// cut is worse than none.
func code(s string, limit int) string {
	e := escape(s, 1<<20)
	if e == "" || units(e) > limit {
		return ""
	}
	return "```" + e + "```"
}

// href is a link, or "" if the address is none that Slack takes.
func href(url, label string) string {
	if url = address(url); url == "" {
		return ""
	}
	return "<" + strings.ReplaceAll(url, "&", "&amp;") + "|" + label + ">"
}

// address is a URL as it may stand in a message, "" if it is none.
func address(url string) string {
	if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
		return ""
	}
	return strings.NewReplacer("<", "%3C", ">", "%3E", "|", "%7C", " ", "%20").Replace(oneLine(url))
}

var id = regexp.MustCompile(`^[CGD][A-Z0-9]{7,}$`)

// isID says that a configured channel is an id.
func isID(channel string) bool { return id.MatchString(channel) }

var (
	group = regexp.MustCompile(`^S[A-Z0-9]+$`)
	user  = regexp.MustCompile(`^[UW][A-Z0-9]+$`)
)

// withMentions puts mentions before a text. What is no mention stays a plain
// name.
func withMentions(who []string, text string) string {
	var parts []string
	for _, w := range who[:min(len(who), 10)] {
		name := strings.TrimPrefix(w, "@")
		switch {
		case name == "here" || name == "channel" || name == "everyone":
			parts = append(parts, "<!"+name+">")
		case group.MatchString(name):
			parts = append(parts, "<!subteam^"+name+">")
		case user.MatchString(name):
			parts = append(parts, "<@"+name+">")
		default:
			parts = append(parts, escape(oneLine(w), 80))
		}
	}
	return strings.Join(append(parts, text), " ")
}

// digest identifies a list of texts.
func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:8])
}
