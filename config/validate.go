package config

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	promconfig "github.com/prometheus/common/config"
)

// ourLabels are the alert labels that collwatch itself sets.
var ourLabels = []string{
	"alertname", "class", "severity", "job_id", "suspect_kind", "suspect_node", "suspect_device", "scope",
	"owner_domain", "source",
}

// severities are the values of the label severity.
var severities = []string{"info", "warning", "critical"}

// crossChecks are the checks that look at more than one value.
func (c *checker) crossChecks(cfg *Config) {
	c.global(cfg)
	c.sources(cfg)
	c.signals(cfg)
	c.detectors(&cfg.Detectors)
	c.diagnosis(&cfg.Diagnosis)
	c.incidents(&cfg.Incidents)
	c.targets(&cfg.Alertmanager)
	c.slack(&cfg.Slack)
}

func (c *checker) global(cfg *Config) {
	g := &cfg.Global
	for _, name := range sortedKeys(g.ExternalLabels) {
		if slices.Contains(ourLabels, name) {
			c.add("global.external_labels."+name, "is a label that every alert has already: choose another name")
		}
	}
	if _, both := g.ExternalLabels["cluster"]; both && g.Cluster != "" {
		c.add("global.cluster", "is given twice: here and in external_labels")
	}
}

func (c *checker) sources(cfg *Config) {
	if len(cfg.Sources) == 0 && !c.withoutSource {
		c.addAt("", "", "", "there is no [[source]]: at least one server to query is needed")
	}
	names := map[string]bool{}
	for i := range cfg.Sources {
		s := &cfg.Sources[i]
		at := fmt.Sprintf("source[%d]", i)
		c.unique(names, at, s.Name)
		c.client(at, s.URL, &s.HTTPClient)
		if len(s.ReplicaLabels) > 0 && s.Kind != "thanos" {
			c.add(at+".replica_labels", "is for kind \"thanos\" only")
		}
		if s.Limits.MaxPoints > 11_000 {
			c.add(at+".limits.max_points", "must not be above 11000, the limit of the servers; got %d", s.Limits.MaxPoints)
		}
	}
}

// unique reports a name that an element before has.
func (c *checker) unique(names map[string]bool, at, name string) {
	if name != "" && names[name] {
		c.add(at+".name", "is not unique: another has the name %q", name)
	}
	names[name] = true
}

// client checks what a client's settings must not say together.
func (c *checker) client(at string, address URL, h *HTTPClient) {
	ways := 0
	for _, set := range []bool{h.BasicAuth.isSet(), h.Authorization.isSet(), h.OAuth2.isSet()} {
		if set {
			ways++
		}
	}
	if ways > 1 {
		c.addTable(at, "has more than one of basic_auth, authorization and oauth2")
	}
	if u := address.Reveal(); u != nil && u.User != nil && ways > 0 {
		c.add(at+".url", "has a login, and so has the table: take it out of the address")
	}
	c.oneSecret(at+".basic_auth", "username", h.BasicAuth.Username != "", h.BasicAuth.UsernameFile != "")
	c.oneSecret(at+".basic_auth", "password", h.BasicAuth.Password != "", h.BasicAuth.PasswordFile != "")
	c.oneSecret(at+".authorization", "credentials", h.Authorization.Credentials != "", h.Authorization.CredentialsFile != "")
	if strings.EqualFold(strings.TrimSpace(h.Authorization.Type), "basic") {
		c.add(at+".authorization.type", "must not be \"Basic\": use basic_auth")
	}
	if h.OAuth2.isSet() {
		c.oneSecret(at+".oauth2", "client_secret", h.OAuth2.ClientSecret != "", h.OAuth2.ClientSecretFile != "")
		if h.OAuth2.ClientID == "" {
			c.add(at+".oauth2.client_id", "is missing")
		}
		if h.OAuth2.TokenURL.IsZero() && !c.failed[at+".oauth2.token_url"] {
			c.add(at+".oauth2.token_url", "is missing")
		}
	}
	c.tls(at+".tls", h.TLS)
	c.tls(at+".oauth2.tls", h.OAuth2.TLS)
	if h.ProxyFromEnvironment && (!h.ProxyURL.IsZero() || h.NoProxy != "") {
		c.add(at+".proxy_from_environment", "excludes proxy_url and no_proxy")
	} else if h.NoProxy != "" && h.ProxyURL.IsZero() {
		c.add(at+".no_proxy", "needs proxy_url")
	}
	c.headers(at, h)
}

func (c *checker) headers(at string, h *HTTPClient) {
	for _, name := range append(sortedKeys(h.Headers), sortedKeys(h.HeaderFiles)...) {
		table := "headers"
		if _, ok := h.HeaderFiles[name]; ok {
			table = "header_files"
		}
		one := promconfig.Headers{Headers: map[string]promconfig.Header{name: {}}}
		if err := one.Validate(); err != nil {
			c.add(join(at+"."+table, name), "is not allowed: it is set by other keys or by the connection")
		}
		if _, both := h.Headers[name]; both && table == "header_files" {
			c.add(join(at+"."+table, name), "is given twice: in headers too")
		}
	}
}

func (c *checker) tls(at string, t TLS) {
	if (t.CertFile == "") != (t.KeyFile == "") {
		c.addTable(at, "needs cert_file and key_file together")
	}
}

// oneSecret reports a secret that is given inline and by file.
func (c *checker) oneSecret(at, key string, inline, file bool) {
	if inline && file {
		c.add(join(at, key), "is given twice: also as %s_file", key)
	}
}

func (c *checker) targets(a *Alertmanager) {
	names := map[string]bool{}
	for i := range a.Targets {
		at := fmt.Sprintf("alertmanager.target[%d]", i)
		c.unique(names, at, a.Targets[i].Name)
		c.client(at, a.Targets[i].URL, &a.Targets[i].HTTPClient)
	}
}

func (c *checker) signals(cfg *Config) {
	s := &cfg.Signals
	if s.Selector != "" {
		if _, err := c.promql.ParseMetricSelector("{" + s.Selector + "}"); err != nil {
			c.add("signals.selector", "is not a list of matchers such as 'cluster=\"a\"': %v", err)
		}
	}
	for _, signal := range sortedKeys(s.Dialects) {
		at := "signals.dialects." + signal
		c.word(at, signal, c.words.Signals)
		for _, dialect := range s.Dialects[signal] {
			c.word(at, dialect, c.words.Dialects)
		}
	}
	for i, dialect := range s.DisabledDialects {
		c.word(fmt.Sprintf("signals.disabled_dialects[%d]", i), dialect, c.words.Dialects)
	}
	for _, signal := range sortedKeys(s.Sources) {
		at := "signals.sources." + signal
		c.word(at, signal, c.words.Signals)
		c.sourceName(cfg, at, s.Sources[signal])
	}
	for _, family := range sortedKeys(s.Windows) {
		at := "signals.windows." + family
		c.word(at, family, c.words.Families)
		if s.Windows[family] <= 0 {
			c.add(at, "must be above 0, got %s", s.Windows[family])
		}
	}
	names := map[string]bool{}
	for i, custom := range s.Custom {
		at := fmt.Sprintf("signals.custom[%d]", i)
		c.unique(names, at, custom.Name)
		if custom.Source != "" {
			c.sourceName(cfg, at+".source", custom.Source)
		}
		if custom.Signal != "" {
			c.word(at+".signal", custom.Signal, c.words.Signals)
		}
		needed := map[string]struct{ key, value string }{
			"gpu": {"device_label", custom.DeviceLabel}, "nic": {"device_label", custom.DeviceLabel},
			"job": {"job_label", custom.JobLabel}, "rank": {"rank_label", custom.RankLabel}, "host": {"host_label", custom.HostLabel},
			"switch_port": {"port_label", custom.PortLabel},
		}[custom.Entity]
		if needed.key != "" && needed.value == "" {
			c.add(at+"."+needed.key, "is missing: a series about a %s needs a label that tells which", custom.Entity)
		}
	}
}

// word checks a word that another package owns, where that was told.
func (c *checker) word(at, word string, words []string) {
	if len(words) > 0 {
		c.oneOf(at, word, words)
	}
}

// sourceName checks a reference to a source.
func (c *checker) sourceName(cfg *Config, at, name string) {
	var names []string
	for _, s := range cfg.Sources {
		names = append(names, s.Name)
	}
	if !slices.Contains(names, name) {
		c.add(at, "names no source: %q; there is %s", name, quoted(names))
	}
}

func (c *checker) detectors(d *Detectors) {
	for i, name := range d.Disabled {
		c.word(fmt.Sprintf("detectors.disabled[%d]", i), name, c.words.Detectors)
	}
	if d.EWMA.Phi >= 1 {
		c.add("detectors.ewma.phi", "must be below 1, got %v", d.EWMA.Phi)
	}
	if d.Lateness.SoftRatio < d.Lateness.Ratio {
		c.add("detectors.lateness.soft_ratio", "must not be below ratio (%v), got %v", d.Lateness.Ratio, d.Lateness.SoftRatio)
	}
	for _, x := range []struct {
		key   string
		value float64
	}{
		{"lateness.receive_ratio", d.Lateness.ReceiveRatio}, {"counters.factor", d.Counters.Factor},
	} {
		if x.value > 0 && x.value <= 1 {
			c.add("detectors."+x.key, "must be above 1, got %v", x.value)
		}
	}
}

func (c *checker) diagnosis(d *Diagnosis) {
	if d.StallMinority < d.StallFact {
		c.add("diagnosis.stall_minority", "must not be below stall_fact (%s), got %s", d.StallFact, d.StallMinority)
	}
	if d.StallAlike < d.StallMinority {
		c.add("diagnosis.stall_alike", "must not be below stall_minority (%s), got %s", d.StallMinority, d.StallAlike)
	}
	for _, code := range sortedKeys(d.Xid) {
		if n, err := strconv.Atoi(code); err != nil || n < 1 || n > 9999 {
			c.add("diagnosis.xid."+code, "is not the number of an Xid")
		}
	}
}

func (c *checker) incidents(i *Incidents) {
	if i.History < i.Reopen {
		c.add("incidents.history", "must not be below reopen (%s), got %s", i.Reopen, i.History)
	}
	if i.DashboardURL != "" {
		plain := strings.NewReplacer("{", "", "}", "").Replace(i.DashboardURL)
		if u, err := url.Parse(plain); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			c.add("incidents.dashboard_url", "is not a URL with http or https")
		}
	}
	c.placeholders("incidents.dashboard_url", i.DashboardURL)
	c.placeholders("incidents.runbook_url", i.RunbookURL.Template())
}

// placeholder has the form of one, which JSON in an address has not.
var placeholder = regexp.MustCompile(`\{(\w*)\}`)

// placeholders checks a template for links in alerts: what is not known would
// stand in the link as it is.
func (c *checker) placeholders(at, template string) {
	known := []string{"cluster", "class", "job", "host", "device", "incident", "from", "to", "node"}
	for _, found := range placeholder.FindAllStringSubmatch(template, -1) {
		if !slices.Contains(known, found[1]) {
			c.add(at, "has the unknown placeholder {%s}; there are {%s}", found[1], strings.Join(known[:len(known)-1], "}, {"))
		}
	}
}

func quoted(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	q := make([]string, len(names))
	for i, name := range names {
		q[i] = strconv.Quote(name)
	}
	return strings.Join(q, ", ")
}
