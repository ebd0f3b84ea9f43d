package promapi

import (
	"net/url"
	"strings"
)

// Kind is the family of a server. It decides about parameters, never about
// queries.
type Kind string

// The known families.
const (
	Prometheus      Kind = "prometheus"
	Thanos          Kind = "thanos"
	Mimir           Kind = "mimir"
	VictoriaMetrics Kind = "victoriametrics"
)

func (k Kind) valid() bool {
	return k == Prometheus || k == Thanos || k == Mimir || k == VictoriaMetrics
}

// params returns what is added to each request.
func (k Kind) params(cfg Config) url.Values {
	p := make(url.Values)
	switch k {
	case Thanos:
		// By default a store that does not answer is left out with a warning.
		p.Set("partial_response", "false")
		p.Set("dedup", "true")
		for _, l := range cfg.Replicas {
			p.Add("replicaLabels[]", l)
		}
	case VictoriaMetrics:
		// Its cache aligns times, which would give other samples.
		p.Set("nocache", "1")
		p.Set("deny_partial_response", "1")
	}
	for name, values := range cfg.Params {
		p[name] = append([]string(nil), values...)
	}
	return p
}

// header returns the header that carries the tenant, "" if there is none.
func (k Kind) header(cfg Config) string {
	switch {
	case cfg.Tenant == "":
		return ""
	case cfg.TenantHeader != "":
		return cfg.TenantHeader
	case k == Mimir:
		return "X-Scope-OrgID"
	case k == Thanos:
		return "THANOS-TENANT"
	}
	return ""
}

// path adds the tenant to u where the cluster version of VictoriaMetrics has
// it, unless u names one already.
func (k Kind) path(u *url.URL, tenant string) *url.URL {
	if k != VictoriaMetrics || tenant == "" || strings.Contains(u.Path, "/select/") {
		return u
	}
	return u.JoinPath("select", tenant, "prometheus")
}
