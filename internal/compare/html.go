package compare

import (
	"fmt"
	"html/template"
	"io"
)

// WriteHTML writes a result as one self-contained page without scripts.
func WriteHTML(w io.Writer, res *Result) error {
	t, err := template.New("compare").Funcs(template.FuncMap{
		"mark": mark, "title": title, "describe": Describe, "forest": forest, "spark": spark, "percent": func(v float64) string { return fmt.Sprintf("%.3g", 100*v) },
	}).Parse(page)
	if err != nil {
		return fmt.Errorf("page of the comparison: %w", err)
	}
	if err := t.Execute(w, res); err != nil {
		return fmt.Errorf("page of the comparison: %w", err)
	}
	return nil
}

// Style is the style sheet of all pages of this package.
const Style = `:root{--ink:#1c2430;--soft:#667085;--line:#d7dce3;--bg:#fff;--bad:#b42318;--good:#067647;--base:#98a2b3;--cand:#1570ef}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ef;--soft:#98a2b3;--line:#344054;--bg:#101828;--bad:#f97066;--good:#47cd89;--base:#667085;--cand:#53b1fd}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--bg);max-width:75rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}td.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
.regression{color:var(--bad)}.improvement{color:var(--good)}.soft{color:var(--soft)}svg text{fill:var(--soft);font:11px system-ui,sans-serif}
.scroll{overflow-x:auto}`

const page = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>collwatch compare: {{.Verdict}}</title><style>` + Style + `</style></head><body>
<h1 class="{{.Verdict}}">{{mark .Verdict}} {{.Verdict | title}}</h1>
<p>{{.Why}}.</p>
<ul><li>baseline: {{describe .Base}}</li><li>candidate: {{describe .Cand}}</li>{{range .Notes}}<li>note: {{.}}</li>{{end}}</ul>
{{range .Rows}}<h2>{{.Key}}</h2>
<p class="{{.Verdict}}">{{mark .Verdict}} {{.Verdict}}: {{.Why}}</p>
{{if .Causes}}<ul>{{range .Causes}}<li>{{.}}</li>{{end}}</ul>{{end}}
{{if .Metrics}}{{template "estimates" .Metrics}}{{end}}{{end}}
{{if .Run}}<h2>The whole run</h2><p class="soft">Context without a verdict.</p>{{template "estimates" .Run}}{{end}}
<p class="soft">{{.Footnote}}</p>
</body></html>
{{define "estimates"}}<div class="scroll"><table><tr><th>metric</th><th>baseline</th><th>candidate</th><th>change</th><th>interval</th><th>−30 % to +30 %</th><th>over time (grey: baseline)</th></tr>
{{range .}}<tr><td>{{.Metric.Title}}</td><td class="n">{{.Metric.Format .Base}}</td><td class="n">{{.Metric.Format .Cand}}</td><td class="n">{{.Metric.FormatChange .Change}}</td><td class="n">{{.Metric.FormatChange .Low}} to {{.Metric.FormatChange .High}}</td><td>{{forest .}}</td><td>{{spark .}}</td></tr>
{{end}}</table></div>{{end}}`
