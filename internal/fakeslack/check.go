package fakeslack

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Limits of a message as Slack's reference gives them.
const (
	maxText    = 40000
	maxBlocks  = 50
	maxTotal   = 13000 // all text of all blocks: msg_blocks_too_long
	maxCharts  = 2
	maxSection = 3000
)

// checker walks through a message and keeps its first mistake.
type checker struct {
	noCharts bool
	code     string
	lines    []string
	total    int
	blocks   int
	charts   int
}

// check returns the blocks as text, the colour of the bar, and the name of
// Slack's error or "".
func (s *Server) check(p *payload) (body, color, code string) {
	c := &checker{noCharts: s.noCharts}
	switch {
	case p.Text == "" && len(p.Blocks)+len(p.Attachments) == 0:
		c.fail("no_text")
	case p.Text == "" && !p.legacy():
		c.fail("no_text") // Slack only warns; then the phone shows nothing
	case length(p.Text) > maxText:
		c.fail("msg_too_long")
	}
	c.mrkdwn(p.Text, maxText, "invalid_arguments")
	c.list(p.Blocks)
	for _, a := range p.Attachments {
		c.list(a.Blocks)
		color = a.Color
		if a.Title != "" || a.Text != "" {
			c.say("attachment", strings.TrimSpace(a.Title+"\n"+a.Text))
		}
		if a.Fallback == "" {
			c.fail("invalid_attachments")
		}
	}
	if len(p.Attachments) > 20 {
		c.fail("too_many_attachments")
	}
	if c.total > maxTotal {
		c.fail("msg_blocks_too_long")
	}
	if c.code != "" {
		c.code = strings.SplitN(c.code, ":", 2)[0]
	}
	return strings.Join(c.lines, "\n"), color, c.code
}

func (c *checker) fail(code string) {
	if c.code == "" {
		c.code = code
	}
}

// textObject is a text object.
type textObject struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// block holds the fields of all block types that are known.
type block struct {
	Type     string            `json:"type"`
	BlockID  string            `json:"block_id"`
	Text     *textObject       `json:"text"`
	Fields   []textObject      `json:"fields"`
	Elements []json.RawMessage `json:"elements"`
	Title    string            `json:"title"`
	Chart    json.RawMessage   `json:"chart"`
}

func (c *checker) list(raw []json.RawMessage) {
	c.blocks += len(raw)
	if c.blocks > maxBlocks {
		c.fail("invalid_blocks")
	}
	for _, r := range raw {
		var b block
		if json.Unmarshal(r, &b) != nil || length(b.BlockID) > 255 {
			c.fail("invalid_blocks")
			continue
		}
		c.block(&b)
	}
}

func (c *checker) block(b *block) {
	switch b.Type {
	case "header":
		if b.Text == nil || b.Text.Type != "plain_text" {
			c.fail("invalid_blocks")
			return
		}
		c.plain(b.Text.Text, 150)
		c.say("header", b.Text.Text)
	case "section":
		if b.Text == nil && len(b.Fields) == 0 || len(b.Fields) > 10 {
			c.fail("invalid_blocks")
			return
		}
		if b.Text != nil {
			c.text(*b.Text, maxSection)
			c.say("section", b.Text.Text)
		}
		for _, f := range b.Fields {
			c.text(f, 2000)
			c.say("field", f.Text)
		}
	case "context":
		c.elements(b, 10, func(t textObject) {
			c.text(t, 2000)
			c.say("context", t.Text)
		})
	case "actions":
		c.actions(b)
	case "data_visualization":
		c.chart(b)
	case "divider":
	default:
		c.fail("invalid_blocks")
	}
}

func (c *checker) elements(b *block, limit int, each func(textObject)) {
	if len(b.Elements) == 0 || len(b.Elements) > limit {
		c.fail("invalid_blocks")
	}
	for _, raw := range b.Elements {
		var t textObject
		if json.Unmarshal(raw, &t) != nil {
			c.fail("invalid_blocks")
			continue
		}
		each(t)
	}
}

func (c *checker) actions(b *block) {
	if len(b.Elements) == 0 || len(b.Elements) > 25 {
		c.fail("invalid_blocks")
	}
	for _, raw := range b.Elements {
		var e struct {
			Type     string      `json:"type"`
			Text     *textObject `json:"text"`
			ActionID string      `json:"action_id"`
			Value    string      `json:"value"`
			URL      string      `json:"url"`
			Hint     *textObject `json:"placeholder"`
			Options  []struct {
				Text  textObject `json:"text"`
				Value string     `json:"value"`
			} `json:"options"`
		}
		if json.Unmarshal(raw, &e) != nil || length(e.ActionID) > 255 || length(e.Value) > 2000 || length(e.URL) > 3000 {
			c.fail("invalid_blocks")
			continue
		}
		label := ""
		if e.Text != nil {
			c.plain(e.Text.Text, 75)
			label = e.Text.Text
		}
		if e.Type == "static_select" {
			if e.Hint == nil || len(e.Options) == 0 || len(e.Options) > 100 {
				c.fail("invalid_blocks")
				continue
			}
			label = e.Hint.Text
			var labelSb188 strings.Builder
			for _, o := range e.Options {
				c.plain(o.Text.Text, 75)
				if length(o.Value) > 150 {
					c.fail("invalid_blocks")
				}
				labelSb188.WriteString(", " + o.Text.Text)
			}
			label += labelSb188.String()
		}
		c.say(e.Type, strings.TrimSpace(label+" "+e.URL))
	}
}

// text checks a text object of either type.
func (c *checker) text(t textObject, limit int) {
	switch t.Type {
	case "mrkdwn":
		c.mrkdwn(t.Text, limit, "invalid_blocks")
	case "plain_text":
		c.plain(t.Text, limit)
	default:
		c.fail("invalid_blocks")
	}
	if t.Text == "" {
		c.fail("invalid_blocks")
	}
	c.total += length(t.Text)
}

func (c *checker) plain(s string, limit int) {
	if s == "" || length(s) > limit || !utf8.ValidString(s) || strings.ContainsAny(s, "<>&") {
		c.fail("invalid_blocks")
	}
}

// markup is what may stand between < and > in mrkdwn, and the three entities.
var markup = regexp.MustCompile(`<(https?://[^<>|\s]+(\|[^<>|]*)?|!date\^[0-9]+\^[^<>|^]+\|[^<>|]+|!(here|channel|everyone)|!subteam\^S[A-Z0-9]+|@[UW][A-Z0-9]+)>|&(amp|lt|gt);`)

// mrkdwn checks length and escaping: what is neither markup nor an entity must
// not hold a raw <, > or &.
func (c *checker) mrkdwn(s string, limit int, code string) {
	if length(s) > limit || !utf8.ValidString(s) || strings.ContainsAny(markup.ReplaceAllString(s, ""), "<>&") {
		c.fail(code)
	}
	if strings.Count(s, "```")%2 != 0 {
		c.fail(code) // a code block that is not closed swallows what follows
	}
}

func (c *checker) say(kind, text string) {
	c.lines = append(c.lines, fmt.Sprintf("%s: %s", kind, indent(text)))
}

// length counts as the strictest of Slack's clients does.
func length(s string) int { return len(utf16.Encode([]rune(s))) }
