package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

const masked = "<secret>"

// Secret is a value that must not be seen. Every way to print or encode it
// gives a mask; only Reveal gives the value.
type Secret string

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }

// String returns a mask, or "" if there is no secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return masked
}

// Format masks every verb, %#v and %x included.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, s.String()) }

// MarshalText masks JSON, TOML and XML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = Secret(text)
	return nil
}

// LogValue masks structured logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// URL is an absolute http or https address. It is printed without the password
// and the query, which may hold a token.
type URL struct{ u *url.URL }

// ParseURL reads an absolute http or https address.
func ParseURL(s string) (URL, error) {
	var u URL
	err := u.UnmarshalText([]byte(s))
	return u, err
}

// IsZero says that no address was given.
func (u URL) IsZero() bool { return u.u == nil }

// Reveal returns a copy of the address with all that is in it, or nil.
func (u URL) Reveal() *url.URL {
	if u.u == nil {
		return nil
	}
	c := *u.u
	return &c
}

// Template is the address as String gives it, with placeholders such as {class}
// as they were written: an address escapes their braces.
func (u URL) Template() string {
	return strings.NewReplacer("%7B", "{", "%7D", "}").Replace(u.String())
}

// Host returns host and port as written.
func (u URL) Host() string {
	if u.u == nil {
		return ""
	}
	return u.u.Host
}

// String returns the address with password and query values masked.
func (u URL) String() string {
	if u.u == nil {
		return ""
	}
	c := *u.u
	if c.User != nil {
		if _, has := c.User.Password(); has {
			c.User = url.UserPassword(c.User.Username(), "xxxxx")
		}
	}
	if c.RawQuery != "" {
		c.RawQuery = "xxxxx"
	}
	c.Fragment, c.RawFragment = "", ""
	return c.String()
}

// Format masks every verb.
func (u URL) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, u.String()) }

// MarshalText masks JSON, TOML and XML.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// LogValue masks structured logs.
func (u URL) LogValue() slog.Value { return slog.StringValue(u.String()) }

// port is what stands behind the first colon of an address without a scheme.
var port = regexp.MustCompile(`^\d+(/|$)`)

// UnmarshalText implements encoding.TextUnmarshaler. Its errors never contain
// the text: that may be a secret with a typing error.
func (u *URL) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		u.u = nil
		return nil
	}
	parsed, err := url.Parse(string(text))
	switch {
	case err != nil:
		return errors.New("is not a URL (not shown, it may hold a password)")
	case parsed.Scheme == "":
		return errors.New(`is not a URL: it has no scheme; write "http://" or "https://" before the host`)
	case parsed.Host == "" && port.MatchString(parsed.Opaque): // host:9090
		return fmt.Errorf(`is not a URL: write "http://" or "https://" before the host (%q was taken for the scheme)`, parsed.Scheme)
	case strings.HasPrefix(parsed.Scheme, "dns+"):
		return fmt.Errorf("is not a URL with http or https (scheme %q): an Alertmanager has resolve_all for all addresses of a name", parsed.Scheme)
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return fmt.Errorf("is not a URL with http or https (scheme %q)", parsed.Scheme)
	case parsed.Hostname() == "":
		return errors.New("is not a URL: it has no host")
	case tooHigh(parsed.Port()):
		return errors.New("is not a URL: its port is above 65535")
	}
	u.u = parsed
	return nil
}

// tooHigh says that a port, which is "" or digits, is none.
func tooHigh(port string) bool {
	_, err := strconv.ParseUint(port, 10, 16)
	return port != "" && err != nil
}

// mustURL is for addresses written in this package.
func mustURL(s string) URL {
	u, err := ParseURL(s)
	if err != nil {
		panic(err)
	}
	return u
}
