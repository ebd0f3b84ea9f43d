package signals

import (
	"net/netip"
	"strings"

	"github.com/collwatch/collwatch/promapi"
)

// A Prometheus that federates from another, or scrapes a collector in front of
// the exporters, without honor_labels moves the labels of the target away and
// writes its own: all hosts would be one.
const (
	instanceLabel = "instance"
	jobLabel      = "job"
	moved         = "exported_"
)

// targetLabel reads instance or job as the exporter's own scrape had it.
func targetLabel(ls promapi.Labels, name string) string {
	if v := ls.Get(moved + instanceLabel); v == "" || anywhere(v) || ls.Get(moved+jobLabel) == "" {
		return ls.Get(name)
	}
	return ls.Get(moved + name)
}

// anywhere says that an instance names no host: the loopback as a collector on
// the same host sees it, or the UUID that OpenTelemetry gives to a process.
func anywhere(instance string) bool {
	host := CanonicalHost(instance)
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsLoopback() || a.IsUnspecified()
	}
	uuid := len(host) == 36 && strings.Count(host, "-") == 4 && strings.Trim(host, "0123456789abcdef-") == ""
	return uuid || host == "" || host == "localhost"
}
