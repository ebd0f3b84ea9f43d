package fakeslack

import (
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"
)

// HTML draws the messages of a channel and their threads as Slack's client
// does, for pictures: block by block from what was sent, and nothing else.
func (s *Server) HTML() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	b.WriteString(`<!doctype html><meta charset="utf-8"><title>Slack</title><style>` + slackStyle + `</style><main>`)
	for _, m := range s.messages {
		if m.Deleted {
			continue
		}
		class := "message"
		if m.Thread != "" {
			class += " reply"
		}
		fmt.Fprintf(&b, `<div class="%s"><div class="avatar">cw</div><div class="content"><div class="who"><b>collwatch</b> <span class="app">APP</span> <time>%s</time></div>`,
			class, m.Posted.UTC().Format("15:04"))
		drawBlocks(&b, m.payload.Blocks)
		for _, a := range m.payload.Attachments {
			fmt.Fprintf(&b, `<div class="attachment" style="border-color:%s">`, html.EscapeString(a.Color))
			drawBlocks(&b, a.Blocks)
			b.WriteString("</div>")
		}
		if len(m.payload.Blocks)+len(m.payload.Attachments) == 0 {
			fmt.Fprintf(&b, `<div class="section">%s</div>`, toHTML(m.Text))
		}
		b.WriteString("</div></div>")
	}
	b.WriteString("</main>")
	return b.String()
}

func drawBlocks(b *strings.Builder, raw []json.RawMessage) {
	for _, r := range raw {
		var x block
		if json.Unmarshal(r, &x) != nil {
			continue
		}
		switch x.Type {
		case "header":
			fmt.Fprintf(b, `<h1>%s</h1>`, html.EscapeString(x.Text.Text))
		case "section":
			if x.Text != nil {
				fmt.Fprintf(b, `<div class="section">%s</div>`, toHTML(x.Text.Text))
			}
		case "context":
			for _, e := range x.Elements {
				var t textObject
				if json.Unmarshal(e, &t) == nil {
					fmt.Fprintf(b, `<div class="context">%s</div>`, toHTML(t.Text))
				}
			}
		case "actions":
			drawActions(b, x.Elements)
		case "data_visualization":
			drawChart(b, &x)
		}
	}
}

func drawActions(b *strings.Builder, elements []json.RawMessage) {
	b.WriteString(`<div class="actions">`)
	for _, e := range elements {
		var x struct {
			Type        string     `json:"type"`
			Text        textObject `json:"text"`
			Placeholder textObject `json:"placeholder"`
		}
		if json.Unmarshal(e, &x) != nil {
			continue
		}
		if x.Type == "static_select" {
			fmt.Fprintf(b, `<span class="button">%s ⌄</span>`, html.EscapeString(x.Placeholder.Text))
			continue
		}
		fmt.Fprintf(b, `<span class="button">%s</span>`, html.EscapeString(x.Text.Text))
	}
	b.WriteString(`</div>`)
}

// drawChart draws a line chart from zero, as wide as a message.
func drawChart(b *strings.Builder, x *block) {
	var c struct {
		Series []struct {
			Name string `json:"name"`
			Data []struct {
				Value float64 `json:"value"`
			} `json:"data"`
		} `json:"series"`
		Axis struct {
			Categories []string `json:"categories"`
			X          string   `json:"x_label"`
			Y          string   `json:"y_label"`
		} `json:"axis_config"`
	}
	if json.Unmarshal(x.Chart, &c) != nil || len(c.Axis.Categories) < 2 {
		return
	}
	top := 0.0
	for _, s := range c.Series {
		for _, p := range s.Data {
			top = max(top, p.Value)
		}
	}
	if top == 0 {
		top = 1
	}
	const left, right, high, low = 44.0, 600.0, 14.0, 150.0
	at := func(i int) float64 { return left + (right-left)*float64(i)/float64(len(c.Axis.Categories)-1) }
	fmt.Fprintf(b, `<div class="chart"><b>%s</b><svg viewBox="0 0 620 200" role="img">`, html.EscapeString(x.Title))
	for i := range 3 {
		y := low - (low-high)*float64(i)/2
		fmt.Fprintf(b, `<line x1="%g" y1="%g" x2="%g" y2="%g" stroke="#ddd"/><text x="%g" y="%g" text-anchor="end">%.3g</text>`, left, y, right, y, left-6, y+4, top*float64(i)/2)
	}
	last := len(c.Axis.Categories) - 1
	for _, i := range []int{0, last / 2, last} {
		fmt.Fprintf(b, `<text x="%g" y="166" text-anchor="middle">%s</text>`, at(i), html.EscapeString(c.Axis.Categories[i]))
	}
	colors := []string{"#e01e5a", "#1d6fb8", "#2eb67d", "#ecb22e", "#8d8d8d", "#36c5f0"}
	for k, s := range c.Series {
		var points []string
		for i, p := range s.Data {
			points = append(points, fmt.Sprintf("%.1f,%.1f", at(i), low-(low-high)*p.Value/top))
		}
		fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2.5"/><text x="%g" y="190" style="fill:%s" font-weight="bold">— %s</text>`,
			strings.Join(points, " "), colors[k%len(colors)], left+180*float64(k), colors[k%len(colors)], html.EscapeString(s.Name))
	}
	fmt.Fprintf(b, `<text x="%g" y="190" text-anchor="end">%s · %s</text></svg></div>`, right, html.EscapeString(c.Axis.Y), html.EscapeString(c.Axis.X))
}

var (
	fence = regexp.MustCompile("(?s)```(.*?)```")
	tick  = regexp.MustCompile("`([^`\n]+)`")
	bold  = regexp.MustCompile(`(^|[\s(])\*([^*\n]+)\*`)
	link  = regexp.MustCompile(`<(https?://[^|>]+)\|([^>]+)>`)
	call  = regexp.MustCompile(`<[!@]([^>|]+)(\|[^>]*)?>`)
)

// toHTML is mrkdwn as HTML. The text is escaped already, as Slack demands.
func toHTML(s string) string {
	s = link.ReplaceAllString(s, `<a href="$1">$2</a>`)
	s = call.ReplaceAllString(s, `<span class="mention">@$1</span>`)
	s = fence.ReplaceAllString(s, `<pre>$1</pre>`)
	s = tick.ReplaceAllString(s, `<code>$1</code>`)
	s = bold.ReplaceAllString(s, `$1<b>$2</b>`)
	return strings.ReplaceAll(s, "\n", "<br>")
}

const slackStyle = `
body{margin:0;background:#fff;color:#1d1c1d;font:15px/1.46 Lato,"Liberation Sans","DejaVu Sans",sans-serif}
main{width:720px;padding:14px 20px}.message{display:flex;gap:10px;margin:10px 0}.reply{margin-left:46px}
.avatar{flex:none;width:36px;height:36px;border-radius:8px;background:#1d6fb8;color:#fff;font-weight:bold;text-align:center;line-height:36px}
.reply .avatar{width:28px;height:28px;line-height:28px;font-size:12px}.content{flex:1;min-width:0}
.app{background:#ddd;border-radius:3px;font-size:10px;padding:1px 3px}time{color:#616061;font-size:12px}
h1{font-size:18px;line-height:1.3;margin:6px 0}.section{margin:6px 0;overflow-wrap:anywhere}
.attachment{border-left:4px solid;border-radius:4px;padding-left:12px;margin-top:6px}
.context{color:#616061;font-size:13px;margin:4px 0}a{color:#1264a3;text-decoration:none}
pre{margin:4px 0;padding:8px;border:1px solid #ddd;border-radius:4px;background:#f8f8f8;font:12px/1.5 "DejaVu Sans Mono",monospace;white-space:pre-wrap}
code{border:1px solid #ddd;border-radius:3px;background:#f8f8f8;padding:1px 3px;font:13px "DejaVu Sans Mono",monospace}
.button{display:inline-block;border:1px solid #bbb;border-radius:4px;padding:4px 12px;margin:4px 8px 4px 0;font-weight:bold;font-size:13px}
.chart{border:1px solid #ddd;border-radius:8px;padding:10px;margin:6px 0}.chart text{font-size:11px;fill:#616061}.chart svg{width:100%}
.mention{background:#fff3d1;color:#1264a3}`
