package report

import (
	"fmt"
	"html/template"
	"io"

	"github.com/collwatch/collwatch/internal/compare"
)

// WriteHTML writes the report as one self-contained page without scripts.
func (r *Report) WriteHTML(w io.Writer) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"headline": r.headline, "nothing": r.nothing, "heat": r.heatSVG, "health": r.healthSVG, "stamp": stamp, "until": until, "nobody": orNobody,
		"share": compare.Share.Format, "time": compare.Time.Format, "bandwidth": compare.Bandwidth.Format, "change": compare.Time.FormatChange,
	}).Parse(page)
	if err != nil {
		return fmt.Errorf("page of the report: %w", err)
	}
	if err := t.Execute(w, r); err != nil {
		return fmt.Errorf("page of the report: %w", err)
	}
	return nil
}

const page = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>collwatch report: job {{.Job}}</title><style>` + compare.Style + `</style></head><body>
<h1>Job {{.Job}}</h1><p>{{headline}}</p>
<h2>What to change first</h2>
{{if .Advice}}<ol>{{range .Advice}}<li><b>{{.What}}</b> {{.Why}}</li>{{end}}</ol>{{else}}<p>{{nothing}}</p>{{end}}
<h2>Communication over time</h2>
<p class="soft">Blue: time of all operations over their own median, ×1 is usual. Red: the part of it that is waiting. Bands: incidents.</p>
{{health}}
<h2>Costs by operation</h2>
<div class="scroll"><table><tr><th>operation</th><th>share of wall time</th><th>mean time</th><th>bus bandwidth</th><th>transfer</th><th>waiting</th><th>slowest tenth</th></tr>
{{range .Costs}}<tr><td>{{.Key}}</td><td class="n">{{share .Share}}</td><td class="n">{{time .Time}}</td><td class="n">{{bandwidth .Bandwidth}}</td><td class="n">{{time .Transfer}}</td><td class="n">{{share .Waiting}}</td><td class="n">{{change .Spread}}</td></tr>
{{end}}</table></div>
{{if not .MeasuredShare}}<p class="soft">The share of wall time needs an exporter that counts operations or busy time.</p>{{end}}
<h2>Incidents</h2>
{{if .Incidents}}<div class="scroll"><table><tr><th>from</th><th>to</th><th>severity</th><th>class</th><th>suspect</th><th>summary</th><th>next step</th></tr>
{{range .Incidents}}<tr><td>{{stamp .From}}</td><td>{{until .To}}</td><td>{{.Severity}}</td><td>{{.Class}}</td><td>{{nobody .Suspect}}</td><td>{{.Summary}}</td><td>{{.NextStep}}</td></tr>
{{end}}</table></div>{{else}}<p>None.</p>{{end}}
<h2>Who came late</h2>
<p class="soft">One row a {{if .Heat.Hosts}}host{{else}}GPU{{end}}. The darker, the later: who arrives last waits least, so its time is shorter than that of the others. This shows lateness, not blame; incidents name who is to blame, where anybody can be.</p>
{{if .Heat.Rows}}{{heat}}{{else}}<p>No communicator whose members are known.</p>{{end}}
</body></html>
`
