package grafana

import (
	"encoding/json"
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/collwatch/collwatch/rules"
)

// File is one dashboard.
type File struct {
	// Name of the file.
	Name string
	Data []byte
	// Queries are what its panels and variables ask.
	Queries []Query
}

// Query is a query of a dashboard, with variables in it.
type Query struct {
	Panel, Expr string
}

// page is a dashboard in our words.
type page struct {
	file, title, about string
	variables          []variable
	rows               []row
}

type row struct {
	title  string
	panels []panel
}

// variable is a choice at the top of a dashboard: the values of a label.
type variable struct {
	name, label, metric string
	// all says that any value may be meant.
	all bool
}

// Dashboards makes all dashboards: the cluster, a job, a host, an incident and
// collwatch itself.
func Dashboards() ([]File, error) {
	series, err := rules.SignalSeries(rules.Default())
	if err != nil {
		return nil, err
	}
	var out []File
	for _, p := range []page{cluster(series), job(series), host(series), incident(series), daemon()} {
		f, err := p.build()
		if err != nil {
			return nil, fmt.Errorf("dashboard %q: %w", p.title, err)
		}
		out = append(out, f)
	}
	return out, nil
}

const folderTag = "collwatch"

func (p page) build() (File, error) {
	f := File{Name: p.file + ".json"}
	//nolint:staticcheck // Grafana before 12 reads only this form of a dashboard
	b := dashboard.NewDashboardBuilder(p.title).Uid("collwatch-"+p.file).Description(p.about).Tags([]string{folderTag}).
		Time("now-3h", "now").Refresh("30s").Timezone(common.TimeZoneBrowser).Tooltip(dashboard.DashboardCursorSyncCrosshair).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Prometheus").Type("prometheus")).
		Link(dashboard.NewDashboardLinkBuilder("collwatch").Type(dashboard.DashboardLinkTypeDashboards).Tags([]string{folderTag}).KeepTime(true).IncludeVars(true))
	for _, v := range p.variables {
		query := fmt.Sprintf("label_values(%s, %s)", v.metric, v.name)
		q := dashboard.NewQueryVariableBuilder(v.name).Label(v.label).Datasource(source()).Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
			Sort(dashboard.VariableSortAlphabeticalAsc).Query(dashboard.StringOrMap{String: new(query)})
		if v.all {
			q = q.IncludeAll(true).AllValue(".*").Current(dashboard.VariableOption{
				Text: dashboard.StringOrArrayOfString{String: new("All")}, Value: dashboard.StringOrArrayOfString{String: new("$__all")},
			})
		}
		b = b.WithVariable(q)
		f.Queries = append(f.Queries, Query{"variable " + v.name, v.metric})
	}
	b = b.Annotation(dashboard.NewAnnotationQueryBuilder().Name("Alerts").Datasource(source()).Enable(true).IconColor("red").
		Expr(`ALERTS{alertname=~"Collwatch.+",alertstate="firing",class!="self"}`).TitleFormat("{{alertname}}").TextFormat("{{job_id}} {{suspect_node}} {{suspect_device}}"))
	for _, r := range p.rows {
		b = b.WithRow(dashboard.NewRowBuilder(r.title))
		for _, x := range r.panels {
			b = b.WithPanel(x.build())
			if x.expr != "" {
				f.Queries = append(f.Queries, Query{x.title, x.expr})
			}
		}
	}
	d, err := b.Build()
	if err != nil {
		return f, err
	}
	f.Data, err = json.MarshalIndent(d, "", "  ")
	f.Data = append(f.Data, '\n')
	return f, err
}

// source is the choice of the reader.
func source() common.DataSourceRef {
	return common.DataSourceRef{Type: new("prometheus"), Uid: new("${datasource}")}
}
