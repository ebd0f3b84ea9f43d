package main

import (
	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/notify/alertmanager"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/web"
)

// site makes the pages. They read the running generation at each request.
func (d *daemon) site() *web.Site {
	return web.NewSite(web.Options{
		Incidents:   func() web.Incidents { return d.manager },
		Renderer:    func() *incidents.Renderer { return &d.current.Load().asm.opts.renderer },
		Settings:    func() web.Settings { return webSettings(d.current.Load().cfg) },
		State:       func() *web.State { return d.current.Load().pages.Load() },
		Evaluations: func() []engine.Tick { return d.current.Load().asm.engine.Recent() },
		Config:      func() (string, error) { return d.current.Load().cfg.Masked() },
		Querier:     func(source string) promapi.Querier { return d.current.Load().sources[source] },
		Custom: func(e signals.Entity, hosts []string) (signals.Plot, bool) {
			return d.current.Load().asm.opts.custom.Plot(e, hosts)
		},
		Suppressed: d.suppressed,
		Told:       alertmanager.Describe,
		Version:    release(),
	})
}

func webSettings(cfg *config.Config) web.Settings {
	return web.Settings{
		Title: cfg.Web.Title, ExternalURL: cfg.Global.ExternalURL.String(), ChartBefore: cfg.Web.ChartBefore.Std(), PageSize: cfg.Web.PageSize,
		Interval: cfg.Global.Interval.Std(), QueryOffset: cfg.Global.QueryOffset.Std(),
	}
}

// suppressed asks what Alertmanager does with the alert of an incident.
func (d *daemon) suppressed(inc *incidents.Incident) string {
	n := d.current.Load().alerts
	if n == nil {
		return ""
	}
	state, ok := n.Suppression(alertmanager.Fingerprint(inc.AlertLabels()))
	if !ok {
		return ""
	}
	return state.By()
}
