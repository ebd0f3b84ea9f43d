package web_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/web"
)

var allPages = map[string]string{
	"index": "/", "incident": "/incidents/01J0OPEN", "tied": "/incidents/01J0TIED", "resolved": "/incidents/01J0DONE",
	"jobs": "/jobs", "coverage": "/coverage", "evaluations": "/evaluations", "config": "/config",
}

func TestPagesGolden(t *testing.T) {
	for name, path := range allPages {
		t.Run(name, func(t *testing.T) {
			rec := newRig().get(t, path)
			require.Equal(t, http.StatusOK, rec.Code, rec.Body)
			golden(t, name+".html", rec.Body.Bytes())
		})
	}
}

// Pages load nothing from elsewhere and run nothing that stands in them.
func TestPagesAreSelfContained(t *testing.T) {
	for name, path := range allPages {
		t.Run(name, func(t *testing.T) {
			rec := newRig().get(t, path)
			policy := rec.Header().Get("Content-Security-Policy")
			require.Contains(t, policy, "default-src 'none'")
			require.NotContains(t, policy, "unsafe")
			require.Equal(t, "nosniff", rec.Header().Get("X-Content-Type-Options"))
			body := rec.Body.String()
			require.NotRegexp(t, `<script>|<style>|style="|\son[a-z]+="|javascript:`, body)
			require.NotRegexp(t, `(src|srcset)="(https?:)?//`, body)
			require.NotRegexp(t, `<link[^>]+href="(https?:)?//`, body)
			require.Contains(t, body, `<html lang="en">`)
			require.Contains(t, body, `href="#main"`)
			require.Equal(t, 1, strings.Count(body, "<h1>"))
		})
	}
}

func TestBehindAPrefix(t *testing.T) {
	r := newRig()
	r.set.ExternalURL = "/watch"
	// Proxies that leave the prefix and those that cut it off.
	for _, path := range []string{"/watch/", "/watch", "/", "/watch/jobs", "/jobs", "/watch/assets/style.css", "/watch/incidents/01J0OPEN"} {
		rec := r.get(t, path)
		require.Equal(t, http.StatusOK, rec.Code, path)
		if !strings.Contains(path, "assets") {
			require.NotRegexp(t, `(href|src)="/[^w]`, rec.Body.String(), path)
			require.Contains(t, rec.Body.String(), `href="/watch/assets/style.css"`)
		}
	}
	require.Equal(t, http.StatusNotFound, r.get(t, "/watchdog").Code)
}

func TestUnknown(t *testing.T) {
	r := newRig()
	rec := r.get(t, "/incidents/%3Cscript%3E")
	require.Equal(t, http.StatusNotFound, rec.Code)
	require.Contains(t, rec.Body.String(), "&lt;script&gt;")
	require.Equal(t, http.StatusNotFound, r.get(t, "/assets/..%2fsite.go").Code)
	require.Equal(t, http.StatusNotFound, r.get(t, "/nothing").Code)
}

func TestConfigForPrograms(t *testing.T) {
	r := newRig()
	site := r.site()
	mux := http.NewServeMux()
	site.Register(mux)
	rec := plain(t, mux, "/config")
	require.Equal(t, r.config, rec.Body.String())
	require.Contains(t, rec.Header().Get("Content-Type"), "toml")
}

func TestPastHasPages(t *testing.T) {
	r := newRig()
	r.set.PageSize = 3
	r.inc.ended = nil
	for i := range 7 {
		inc := resolved()
		inc.ID, inc.Jobs = fmt.Sprintf("PAST%d", i), []string{"a job"}
		inc.StartedAt = t0.Add(-time.Duration(i) * time.Hour)
		r.inc.past = append(r.inc.past, inc)
	}
	seen := map[string]int{}
	for page := range 5 {
		body := r.get(t, fmt.Sprintf("/?page=%d", page)).Body.String()
		require.Contains(t, body, "of 3")
		for i := range 7 {
			seen[fmt.Sprint(page, i)] += strings.Count(body, fmt.Sprintf("PAST%d\"", i))
		}
	}
	require.Equal(t, 1, seen["1 0"])
	require.Equal(t, 1, seen["2 3"])
	require.Equal(t, 1, seen["3 6"])
	require.Equal(t, 1, seen["4 6"], "a page behind the last is the last")
	require.Equal(t, 1, seen["0 0"], "and one that makes no sense the first")
	body := r.get(t, "/?job=a+job").Body.String()
	require.Contains(t, body, "Incidents of job a job")
	require.Contains(t, body, `href="/?job=a&#43;job&amp;page=2#past"`)
	require.NotContains(t, body, "01J0OPEN")
}

// What cannot be judged must never look healthy.
func TestStatusIsHonest(t *testing.T) {
	tests := map[string]struct {
		change func(*rig)
		want   string
	}{
		"nothing yet": {func(r *rig) { r.ticks, r.state, r.inc = nil, nil, fixed{} }, "starting"},
		"failed":      {func(r *rig) { r.ticks[0].Err = errors.New("boom") }, "incidents keep their state"},
		"old":         {func(r *rig) { r.now = r.now.Add(time.Hour) }, "what follows is old"},
		"blind":       {func(*rig) {}, "partly blind"},
		"fine":        {func(r *rig) { r.state.Blind = nil }, "current"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig()
			tt.change(r)
			body := r.get(t, "/").Body.String()
			require.Contains(t, body, tt.want)
			if name != "fine" {
				require.NotContains(t, body, `class="status ok"`)
			}
		})
	}
	r := newRig()
	r.inc = fixed{}
	require.Contains(t, r.get(t, "/").Body.String(), "this is not the whole picture")
	r.state = nil
	for _, path := range []string{"/", "/jobs", "/coverage"} {
		require.Contains(t, r.get(t, path).Body.String(), "the first evaluation is not finished", path)
	}
}

func TestEvaluationsShowNoStack(t *testing.T) {
	body := newRig().get(t, "/evaluations").Body.String()
	require.Contains(t, body, "panic: runtime error")
	require.NotContains(t, body, "secret stack")
}

func TestOneIncidentThatMovesOnIsShownOnce(t *testing.T) {
	r := newRig()
	inc := open()
	inc.State, inc.ResolvedAt = incidents.Resolved, t0.Add(10*time.Minute)
	r.inc.ended = append(r.inc.ended, inc)
	require.Equal(t, 1, strings.Count(r.get(t, "/").Body.String(), "/incidents/01J0OPEN"))
}

func TestLookKeepsWhatAFailedTickDidNotSee(t *testing.T) {
	before := state()
	require.Same(t, before, web.Look(&engine.Tick{Err: errors.New("boom")}, before, web.State{}))
}
