package promapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/api"
	promconfig "github.com/prometheus/common/config"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
)

// Config describes one source.
type Config struct {
	Name string // in errors and metrics
	Kind Kind   // Prometheus if empty
	// URL of the server without /api/v1; a path prefix is kept, a query is
	// added to each request. It may hold a user and password.
	URL string
	// HTTP holds authentication, TLS, proxy and free headers; nil is
	// promconfig.DefaultHTTPClientConfig.
	HTTP *promconfig.HTTPClientConfig
	// RoundTripper replaces what would be made from HTTP.
	RoundTripper http.RoundTripper
	// Dial opens connections; nil is the system's way.
	Dial promconfig.DialContextFunc

	Tenant       string     // see Kind
	TenantHeader string     // the header of the kind if empty
	Replicas     []string   // labels by which replicas differ, for Thanos
	Params       url.Values // added to each request
	Version      string     // of this program, for the User-Agent

	Timeout  time.Duration // of a request, 15 s if 0
	Interval time.Duration // of evaluations, bounds Timeout; 0 does not
	Limits   Limits
	// Gzip asks for compressed answers. It saves network and costs both sides
	// more processor time than everything else about a query.
	Gzip bool
	// Chunks reads history, which is what range selectors of half an hour and more
	// ask for, as the compressed chunks that a Prometheus keeps, where it offers
	// them: for commands that read days.
	Chunks bool

	Interner *Interner        // a new one if nil; may be shared between sources
	Metrics  *Metrics         // not exported if nil
	Rand     func() float64   // jitter in [0, 1), needed for backing off; 0.5 if nil
	Now      func() time.Time // time.Now if nil
}

// Limits bounds what one source is asked. Zero values are replaced by the
// defaults in brackets.
type Limits struct {
	Concurrency       int           // requests at the same time (4)
	RequestsPerSecond float64       // (10)
	MaxBody           int64         // bytes of an answer, unpacked (256 MB)
	MaxPoints         int64         // points of a series in one answer (10,000; servers refuse 11,000)
	Slice             time.Duration // longest range of a request (2 h)
	BreakAfter        int           // failures in a row until only a probe is sent (5)
	StatsEvery        int           // every how many queries to ask for their cost (0: never)
}

func (l Limits) withDefaults() Limits {
	if l.Concurrency <= 0 {
		l.Concurrency = 4
	}
	if l.RequestsPerSecond <= 0 {
		l.RequestsPerSecond = 10
	}
	if l.MaxBody <= 0 {
		l.MaxBody = 256e6
	}
	if l.MaxPoints <= 0 {
		l.MaxPoints = 10_000
	}
	if l.Slice <= 0 {
		l.Slice = 2 * time.Hour
	}
	if l.BreakAfter <= 0 {
		l.BreakAfter = 5
	}
	return l
}

// Client asks one Prometheus-compatible server. It is a Querier and safe for
// concurrent use.
type Client struct {
	cfg     Config
	timeout time.Duration
	params  url.Values // of each request
	host    string     // for messages, without secrets
	api     api.Client
	useGet  atomic.Bool // the server was seen to refuse POST
	metrics *sourceMetrics

	transport transport
	cache     *refCache
	decoders  sync.Pool
	slots     *semaphore.Weighted
	rate      *rate.Limiter
	breaker   breaker
	backoff   backoff
	flights   flights
	chunks    chunkReading
	queries   atomic.Uint64 // for StatsEvery
}

// New returns a Client for the server that cfg describes. Nothing is sent yet.
func New(cfg Config) (*Client, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil {
		// The text of err repeats the URL, which may hold a password.
		return nil, fmt.Errorf("source %q: url is not a URL", cfg.Name)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("source %q: url must be http:// or https:// with a host, got %s", cfg.Name, SafeURL(u))
	}
	if cfg.Kind == "" {
		cfg.Kind = Prometheus
	}
	if !cfg.Kind.valid() {
		return nil, fmt.Errorf("source %q: unknown kind %q", cfg.Name, cfg.Kind)
	}
	cfg = cfg.withDefaults()
	c := &Client{
		cfg:     cfg,
		timeout: cfg.Timeout,
		host:    u.Host,
		metrics: cfg.Metrics.source(cfg.Name),
		cache:   newRefCache(cfg.Interner),
		slots:   semaphore.NewWeighted(int64(cfg.Limits.Concurrency)),
		rate:    rate.NewLimiter(rate.Limit(cfg.Limits.RequestsPerSecond), max(1, int(cfg.Limits.RequestsPerSecond))),
		breaker: breaker{after: cfg.Limits.BreakAfter},
		backoff: backoff{rand: cfg.Rand},
	}
	if cfg.Interval > 0 {
		c.timeout = min(c.timeout, cfg.Interval)
	}
	c.decoders.New = func() any { return newDecoder(c.cache) }
	c.params = cfg.Kind.params(cfg)
	for name, values := range u.Query() {
		c.params[name] = append(c.params[name], values...)
	}
	u.RawQuery, u.Fragment = "", ""
	u = cfg.Kind.path(u, cfg.Tenant)
	if err := c.transport.init(cfg); err != nil {
		return nil, fmt.Errorf("source %q: HTTP client: %w", cfg.Name, err)
	}
	c.api, err = api.NewClient(api.Config{
		Address: u.String(),
		Client:  &http.Client{Transport: &c.transport, CheckRedirect: checkRedirect},
	})
	if err != nil {
		return nil, fmt.Errorf("source %q: url is not a URL", cfg.Name)
	}
	return c, nil
}

func (cfg Config) withDefaults() Config {
	cfg.Limits = cfg.Limits.withDefaults()
	if cfg.Timeout <= 0 {
		cfg.Timeout = 15 * time.Second
	}
	if cfg.Interner == nil {
		cfg.Interner = NewInterner()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Rand == nil {
		cfg.Rand = func() float64 { return 0.5 }
	}
	if cfg.Metrics == nil {
		cfg.Metrics = NewMetrics(nil)
	}
	return cfg
}

// Name is the name of the source.
func (c *Client) Name() string { return c.cfg.Name }

// Interner implements Querier.
func (c *Client) Interner() *Interner { return c.cfg.Interner }

// Close frees idle connections. Requests on their way are not stopped; their
// contexts do that.
func (c *Client) Close() { c.transport.closeIdle() }

var errRedirect = errors.New("the server redirects elsewhere")

// checkRedirect follows redirects on the same host only: authentication and
// tenant were meant for that one. A redirect that would turn POST into GET
// loses the query.
func checkRedirect(req *http.Request, via []*http.Request) error {
	from := via[len(via)-1]
	sameHost := strings.EqualFold(req.URL.Host, via[0].URL.Host)
	downgrade := from.URL.Scheme == "https" && req.URL.Scheme != "https"
	if !sameHost || downgrade || req.Method != from.Method || len(via) >= 3 {
		return fmt.Errorf("%w, to %s: set the url of the source to the address that answers", errRedirect, SafeURL(req.URL))
	}
	return nil
}

// SafeURL returns u without user, password, query and fragment, for logs and
// pages.
func SafeURL(u *url.URL) string {
	safe := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return safe.String()
}
