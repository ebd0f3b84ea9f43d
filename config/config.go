package config

// Config is a whole configuration. Field comments are the text of the
// configuration reference and of config.example.toml, both of which are made
// from this package's source.
//
// Tags: toml is the key; check lists what must hold for the value: required,
// positive, nonneg, ratio (0 to 1), one (1 or more), label (a label name),
// promql, file (exists), oneof=a|b. example is a value to show for a key that has
// no default.
type Config struct {
	// What concerns the daemon as a whole.
	Global Global `toml:"global"`
	// Servers to query. At least one is needed; the first is the default for signals that name none.
	Sources []Source `toml:"source"`
	// Where the fabric's layout comes from. All sources are optional and merged.
	Topology Topology `toml:"topology"`
	// Which series mean what. The catalogue recognises the known exporters by itself; this table is for sites that differ.
	Signals Signals `toml:"signals"`
	// The statistics: when a value is unusual.
	Detectors Detectors `toml:"detectors"`
	// From unusual values to a cause: clocks, excuses and limits of the fault classes.
	Diagnosis Diagnosis `toml:"diagnosis"`
	// The life of an incident: when it opens, when it ends, what is held back.
	Incidents Incidents `toml:"incidents"`
	// Delivery to Alertmanager.
	Alertmanager Alertmanager `toml:"alertmanager"`
	// Delivery to Slack.
	Slack Slack `toml:"slack"`
	// The generator of PromQL rule files.
	Rules Rules `toml:"rules"`
	// The status pages. Listen address, TLS and login are flags: see --web.listen-address and --web.config.file.
	Web Web `toml:"web"`

	// Hash identifies the content of the file it came from, in hexadecimal.
	Hash string `toml:"-"`
	// Path is the file it came from, "" if there was none.
	Path string `toml:"-"`
}

// Default returns the configuration that an empty file stands for.
func Default() Config {
	var c Config
	c.setDefaults()
	return c
}

// setDefaults fills in every default. Elements of lists get theirs when they
// are read.
func (c *Config) setDefaults() {
	c.Global.setDefaults()
	c.Topology.setDefaults()
	c.Signals.setDefaults()
	c.Detectors.setDefaults()
	c.Diagnosis.setDefaults()
	c.Incidents.setDefaults()
	c.Alertmanager.setDefaults()
	c.Slack.setDefaults()
	c.Rules.setDefaults()
	c.Web.setDefaults()
}

// Source returns the source with a name; "" means the first.
func (c *Config) Source(name string) (Source, bool) {
	for i, s := range c.Sources {
		if s.Name == name || (name == "" && i == 0) {
			return s, true
		}
	}
	return Source{}, false
}
