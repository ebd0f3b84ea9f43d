package slack

import (
	"strings"

	"github.com/collwatch/collwatch/incidents"
)

// Sizes in UTF-16 units. Together they stay below the 13,000 or so at which
// Slack refuses the blocks of a message, and each below its own limit of 3,000.
const (
	maxLead    = 1000
	maxSection = 1900
	maxCode    = 900
	maxLinks   = 2400
	maxSmall   = 300
	maxFall    = 1500 // the text for phones
)

// render gives an incident the form of a message.
func render(inc *incidents.Incident, r *incidents.Renderer, x extras) *Message {
	c := newCard(inc, r, x)
	who := x.mentions
	if inc.State == incidents.Resolved {
		who = nil
	}
	return c.message(who)
}

func (c *card) message(mentions []string) *Message {
	m := &Message{
		Header: c.title, Color: c.color, Buttons: c.buttons,
		Lead: withMentions(mentions, escape(c.lead, maxLead)),
	}
	m.Text = escape(c.title, 300) + "\n" + escape(c.lead, maxFall)
	total := 0
	for _, p := range c.parts {
		s := p.mrkdwn()
		if total += units(s); s != "" && total <= 5*maxSection {
			m.Sections = append(m.Sections, s)
		}
	}
	if s := linkLine(c.links); s != "" {
		m.Sections = append(m.Sections, s)
	}
	for _, s := range c.small[:min(len(c.small), 10)] {
		if s = escape(oneLine(s), maxSmall); s != "" {
			m.Context = append(m.Context, s)
		}
	}
	return m
}

// mrkdwn is the part as a section, at most maxSection plus maxCode long.
func (p *part) mrkdwn() string {
	var out []string
	if len(p.lines) > 0 || p.code != "" {
		out = append(out, "*"+p.heading+"*")
	}
	if text := escape(strings.Join(p.lines, "\n"), maxSection); text != "" {
		out = append(out, text)
	}
	if block := code(oneLine(p.code), maxCode); block != "" {
		out = append(out, block)
	}
	if len(out) < 2 {
		return ""
	}
	return strings.Join(out, "\n")
}

// linkLine is a line of links. One that does not fit is left out whole.
func linkLine(links []link) string {
	out := ""
	for _, l := range links {
		h := href(l.url, l.label)
		if h == "" || units(out)+units(h)+3 > maxLinks {
			continue
		}
		if out != "" {
			out += " · "
		}
		out += h
	}
	return out
}

// Text renders the message of an incident as plain text, for terminals.
func Text(inc *incidents.Incident, r *incidents.Renderer) string {
	c := newCard(inc, r, extras{})
	var b strings.Builder
	b.WriteString(c.title + "\n" + c.lead + "\n")
	for _, p := range c.parts {
		b.WriteString("\n" + p.heading + "\n")
		for _, l := range p.lines {
			b.WriteString("  " + l + "\n")
		}
		if p.code != "" {
			b.WriteString("  $ " + oneLine(p.code) + "\n")
		}
	}
	b.WriteString("\n")
	for _, l := range c.links {
		b.WriteString(l.label + ": " + oneLine(l.url) + "\n")
	}
	for i, l := range c.small {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(oneLine(l))
	}
	return b.String()
}
