package config

// Web is the table [web].
type Web struct {
	// Title of the pages.
	Title string `toml:"title"`
	// Evaluations that the page about the detectors keeps.
	Evaluations int `toml:"evaluations" check:"one"`
	// Time before the onset that charts show.
	ChartBefore Duration `toml:"chart_before" check:"positive"`
	// Incidents on one page.
	PageSize int `toml:"page_size" check:"one"`
	// Accept POST /-/reload.
	Reload bool `toml:"reload"`
	// Serve Go's profiles under /debug/pprof.
	Pprof bool `toml:"pprof"`
}

func (w *Web) setDefaults() {
	*w = Web{Title: "collwatch", Evaluations: 20, ChartBefore: 30 * minute, PageSize: 50, Reload: true}
}
