package promapi

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"
)

func TestPostIsGivenUpWhereItIsRefused(t *testing.T) {
	f := newFake(t, reply{write: func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		_, _ = w.Write([]byte(answer("vector", oneSeries)))
	}})
	c := f.client(nil)
	for range 3 {
		_, err := instant(t, c)
		require.NoError(t, err)
	}
	var methods []string
	for _, r := range f.requests() {
		methods = append(methods, r.method)
		require.Equal(t, "up", r.form.Get("query"))
	}
	require.Equal(t, []string{"POST", "GET", "GET", "GET"}, methods)
}

func TestWhatIsSent(t *testing.T) {
	for name, c := range map[string]struct {
		edit   func(*Config)
		path   string
		form   url.Values
		header map[string]string
	}{
		"prometheus below a prefix": {
			func(c *Config) { c.URL += "/a/b/?x=y"; c.Params = url.Values{"z": {"1", "2"}} },
			"/a/b/api/v1/query",
			url.Values{"x": {"y"}, "z": {"1", "2"}},
			map[string]string{"Accept-Encoding": "identity"},
		},
		"thanos": {
			func(c *Config) { c.Kind, c.Tenant, c.Replicas = Thanos, "t1", []string{"replica", "ruler"} },
			"/api/v1/query",
			url.Values{"partial_response": {"false"}, "dedup": {"true"}, "replicaLabels[]": {"replica", "ruler"}},
			map[string]string{"Thanos-Tenant": "t1"},
		},
		"mimir":                  {func(c *Config) { c.Kind, c.Tenant = Mimir, "t1" }, "/api/v1/query", nil, map[string]string{"X-Scope-Orgid": "t1"}},
		"mimir, other header":    {func(c *Config) { c.Kind, c.Tenant, c.TenantHeader = Mimir, "t1", "X-Org" }, "/api/v1/query", nil, map[string]string{"X-Org": "t1"}},
		"victoriametrics":        {func(c *Config) { c.Kind = VictoriaMetrics }, "/api/v1/query", url.Values{"nocache": {"1"}, "deny_partial_response": {"1"}}, nil},
		"victoriametrics tenant": {func(c *Config) { c.Kind, c.Tenant = VictoriaMetrics, "7" }, "/select/7/prometheus/api/v1/query", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, ok(oneSeries))
			_, err := instant(t, f.client(c.edit))
			require.NoError(t, err)
			got := f.requests()[0]
			require.Equal(t, c.path, got.path)
			want := url.Values{"query": {"up"}, "time": {"100"}, "timeout": {"15"}}
			maps.Copy(want, c.form)
			require.Subset(t, got.form, want)
			for k, v := range c.header {
				require.Equal(t, []string{v}, got.header[k])
			}
		})
	}
}

func TestSecretsAreReadAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o600))
	f := newFake(t, reply{write: func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer new" {
			// The file rotates at the moment of the refusal.
			if err := os.WriteFile(file, []byte("new"), 0o600); err != nil {
				t.Error(err)
			}
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(answer("vector", oneSeries)))
	}})
	h := promconfig.DefaultHTTPClientConfig
	h.Authorization = &promconfig.Authorization{Type: "Bearer", CredentialsFile: file}
	_, err := instant(t, f.client(func(c *Config) { c.HTTP = &h }))
	require.NoError(t, err)
	require.Len(t, f.requests(), 2)
}

func TestGzip(t *testing.T) {
	f := newFake(t, gzipped(answer("vector", oneSeries)))
	r, err := instant(t, f.client(func(c *Config) { c.Gzip = true }))
	require.NoError(t, err)
	require.Equal(t, 1, r.Len())
	require.EqualValues(t, len(answer("vector", oneSeries)), r.Bytes)
}

func TestOneByteAtATime(t *testing.T) {
	f := newFake(t, reply{write: func(w http.ResponseWriter, _ *http.Request) {
		for _, b := range []byte(answer("vector", oneSeries)) {
			_, _ = w.Write([]byte{b})
			w.(http.Flusher).Flush()
		}
	}})
	r, err := instant(t, f.client(nil))
	require.NoError(t, err)
	require.Equal(t, 1, r.Len())
}

func TestTheFutureIsDropped(t *testing.T) {
	f := newFake(t, reply{status: 200, body: answer("matrix",
		`[{"metric":{"a":"1"},"values":[[99,"1"],[100,"2"],[101,"3"]]},{"metric":{"a":"2"},"values":[[200,"1"]]},{"metric":{"a":"3"},"values":[[50,"1"]]}]`)})
	c := f.client(nil)
	r, err := instant(t, c)
	require.NoError(t, err)
	require.Equal(t, []row{{`{a="1"}`, []string{"99000 1", "100000 2"}}, {`{a="3"}`, []string{"50000 1"}}}, show(c.Interner(), r))
	require.Len(t, r.Infos, 1)
	require.NoError(t, c.Instant(t.Context(), "up[1m] offset -5m", evalTime, r))
	require.Equal(t, 3, r.Len(), "asked for")
}

func TestLabelValuesRequest(t *testing.T) {
	f := newFake(t, reply{status: 200, body: `{"status":"success","data":["b","a","b"]}`},
		reply{status: 200, body: `{"status":"success","data":["a"],"warnings":["w"]}`},
		reply{status: 200, body: `<html>`}, reply{status: 200, body: `{"status":"success","data":{}}`})
	c := f.client(nil)
	w := Window{Start: time.Unix(1, 0), End: time.Unix(2, 5e8)}
	got, err := c.LabelValues(t.Context(), "node", []string{"x", `y{a="b"}`}, w)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, got)
	r := f.requests()[0]
	require.Equal(t, "GET", r.method)
	require.Equal(t, "/api/v1/label/node/values", r.path)
	require.Equal(t, url.Values{"match[]": {"x", `y{a="b"}`}, "start": {"1"}, "end": {"2.5"}}, r.form)
	got, err = c.LabelValues(t.Context(), "dotted.name/x", nil, w)
	require.Equal(t, ClassIncomplete, ClassOf(err))
	require.Equal(t, []string{"a"}, got)
	require.Equal(t, "/api/v1/label/U__dotted_2e_name_2f_x/values", f.requests()[1].path)
	for range 2 {
		_, err = c.LabelValues(t.Context(), "node", nil, w)
		require.Equal(t, ClassNotJSON, ClassOf(err))
	}
}

func TestMetrics(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := NewMetrics(reg)
	f := newFake(t, reply{status: 200, body: `{"status":"success","data":{"resultType":"vector","result":` + oneSeries + `,"stats":{"samples":{"totalQueryableSamples":9}}},"warnings":["w"],"isPartial":true}`},
		reply{status: 500})
	c := f.client(func(c *Config) { c.Metrics, c.Limits.StatsEvery = m, 1 })
	_, err := instant(t, c)
	require.Error(t, err)
	require.Equal(t, "true", f.requests()[0].form.Get("stats"))
	require.Equal(t, 1.0, testutil.ToFloat64(m.samples))
	require.Equal(t, 1.0, testutil.ToFloat64(m.warnings))
	require.Equal(t, 1.0, testutil.ToFloat64(m.partial))
	require.Equal(t, 1.0, testutil.ToFloat64(m.up))
	_, err = instant(t, c)
	require.Error(t, err)
	require.Equal(t, 0.0, testutil.ToFloat64(m.up))
	require.Equal(t, 1.0, testutil.ToFloat64(m.errors.WithLabelValues("src", "transport")))
	problems, err := testutil.GatherAndLint(reg)
	require.NoError(t, err)
	require.Empty(t, problems)
	n, err := testutil.GatherAndCount(reg, "collwatch_source_query_samples")
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func TestRedirectOnTheSameHost(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/prom/") {
			http.Redirect(w, r, "/prom"+r.URL.Path, http.StatusTemporaryRedirect)
			return
		}
		if r.PostFormValue("query") != "up" {
			t.Error("the query got lost")
		}
		_, _ = w.Write([]byte(answer("vector", oneSeries)))
	}))
	defer srv.Close()
	c, err := New(Config{URL: srv.URL})
	require.NoError(t, err)
	defer c.Close()
	r, err := instant(t, c)
	require.NoError(t, err)
	require.Equal(t, 1, r.Len())
}
