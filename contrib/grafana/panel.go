package grafana

import (
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/heatmap"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/text"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"

	"github.com/collwatch/collwatch/rules"
)

// kind is how a panel shows its series.
type kind int

const (
	graph kind = iota
	number
	heat // a row for each series, the colour is its value
	list // a table of what is now
	note
)

// panel is one panel with one query.
type panel struct {
	kind               kind
	title, about, unit string
	expr, legend       string
	// span is the width of 24, 0 is 12.
	span uint32
}

func (p panel) build() cog.Builder[dashboard.Panel] {
	if p.span == 0 {
		p.span = 12
	}
	query := prometheus.NewDataqueryBuilder().Expr(p.expr).LegendFormat(p.legend).RefId("A").Datasource(source())
	const height = 8
	switch p.kind {
	case number:
		return stat.NewPanelBuilder().Title(p.title).Description(p.about).Unit(p.unit).Datasource(source()).Span(p.span).Height(height / 2).
			GraphMode(common.BigValueGraphModeArea).NoValue("none").WithTarget(query.Range())
	case heat:
		return heatmap.NewPanelBuilder().Title(p.title).Description(p.about).Datasource(source()).Span(p.span).Height(height + 4).Calculate(false).
			Color(heatmap.NewHeatmapColorOptionsBuilder().Mode(heatmap.HeatmapColorModeScheme).Scheme("Turbo").Steps(64)).
			CellValues(heatmap.NewCellValuesBuilder().Unit(p.unit)).CellGap(1).WithTarget(query.Range().Format(prometheus.PromQueryFormatTimeSeries))
	case list:
		return table.NewPanelBuilder().Title(p.title).Description(p.about).Unit(p.unit).Datasource(source()).Span(p.span).Height(height).NoValue("none").
			Footer(common.NewTableFooterOptionsBuilder().Show(false).Reducer([]string{"sum"})).WithTarget(query.Instant().Format(prometheus.PromQueryFormatTable)).
			WithTransformation(dashboard.DataTransformerConfig{Id: "organize", Options: map[string]any{"excludeByName": map[string]any{
				"Time": true, "__name__": true, "alertstate": true, "source": true,
			}}})
	case note:
		return text.NewPanelBuilder().Title(p.title).Mode(text.TextModeMarkdown).Content(p.about).Span(p.span).Height(height / 2)
	default:
		return timeseries.NewPanelBuilder().Title(p.title).Description(p.about).Unit(p.unit).Datasource(source()).Span(p.span).Height(height).
			LineWidth(1).FillOpacity(5).ShowPoints(common.VisibilityModeNever).WithTarget(query.Range())
	}
}

// unitOf is Grafana's name of a unit of the catalogue.
func unitOf(s rules.Series) string {
	switch s.Unit {
	case "B/s":
		return "Bps"
	case "bytes", "B":
		return "bytes"
	case "s":
		return "s"
	case "Hz":
		return "hertz"
	case "W":
		return "watt"
	case "C", "°C":
		return "celsius"
	case "ratio", "s/s":
		return "percentunit"
	}
	if strings.HasSuffix(s.Unit, "/s") {
		return "cps"
	}
	return "short"
}

// titleOf is a signal's name in words.
func titleOf(s rules.Series) string {
	words := s.Signal.String()
	for _, level := range []string{"nic_", "gpu_", "host_"} {
		words = strings.TrimPrefix(words, level)
	}
	words = strings.ReplaceAll(words, "_", " ")
	if s.Unit == "events" {
		words += " (events in ten minutes)"
	}
	return strings.ToUpper(words[:1]) + words[1:]
}

// legendOf tells the rows of a level apart.
func legendOf(level string) string {
	switch level {
	case "nic_port":
		return "{{host}}/{{device}}"
	case "gpu", "rank":
		return "{{host}}/{{gpu}}"
	}
	return "{{host}}"
}

// of are the series of a level, with a panel made of each.
func of(series []rules.Series, level string, show func(s rules.Series) panel) []panel {
	var out []panel
	for _, s := range series {
		if s.Level == level {
			p := show(s)
			if p.title == "" {
				p.title = titleOf(s)
			}
			if p.unit == "" {
				p.unit = unitOf(s)
			}
			if p.legend == "" {
				p.legend = legendOf(level)
			}
			p.about = "Signal " + s.Signal.String() + ", recorded as " + s.Name + "."
			out = append(out, p)
		}
	}
	return out
}
