//go:build long

package web_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// browser starts Debian's chromium. The test is skipped where there is none.
func browser(t *testing.T) context.Context {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no chromium: install the package of that name")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.WSURLReadTimeout(time.Minute))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), opts...)
	t.Cleanup(stop)
	tab, cancel := chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	// The browser lives as long as the context of the first call: not that of
	// the limit, or it is gone before it is asked to close and never answers.
	require.NoError(t, chromedp.Run(tab))
	ctx, expire := context.WithTimeout(tab, 3*time.Minute)
	t.Cleanup(expire)
	t.Cleanup(func() { _ = chromedp.Cancel(tab) }) // waits for its processes
	return ctx
}

// contrast lists texts that are hard to read: less than 4.5 to 1 against what
// lies behind them, as WCAG 2.1 asks for at level AA.
const contrast = `(() => {
  const rgb = s => s.match(/[\d.]+/g).map(Number);
  const lum = c => { const f = c.slice(0, 3).map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2]; };
  const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0.5) return c; } return [255, 255, 255]; };
  const out = [];
  for (const e of document.querySelectorAll("main *, header *, footer *")) {
    if (e.closest("svg") || ![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
    const a = lum(rgb(getComputedStyle(e).color)), b = lum(behind(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) out.push(e.tagName + "." + e.className + " " + ratio.toFixed(2) + ": " + e.textContent.slice(0, 30));
  }
  return out;
})()`

func TestLongBrowser(t *testing.T) {
	r := simulated(t, "S01", 5)
	id := r.opened(t).ID
	text, err := os.ReadFile("../config.example.toml")
	require.NoError(t, err)
	r.config = string(text)
	site, mux := r.site(), http.NewServeMux()
	site.Register(mux)
	srv := httptest.NewServer(site.Prefixed(mux))
	t.Cleanup(srv.Close)
	ctx := browser(t)
	var mu sync.Mutex
	var complaints []string
	chromedp.ListenTarget(ctx, func(ev any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := ev.(type) {
		case *log.EventEntryAdded:
			complaints = append(complaints, e.Entry.Text+" "+e.Entry.URL)
		case *runtime.EventExceptionThrown:
			complaints = append(complaints, e.ExceptionDetails.Text)
		}
	})
	require.NoError(t, chromedp.Run(ctx, log.Enable(), runtime.Enable()))
	for _, view := range []struct {
		name, scheme  string
		width, height int64
	}{{"light", "light", 1180, 900}, {"dark", "dark", 1180, 900}, {"phone", "light", 390, 844}, {"night", "dark", 390, 844}} {
		for _, page := range []string{"/", "/incidents/" + id, "/jobs", "/coverage", "/evaluations", "/config"} {
			var width int64
			var weak []string
			var shot []byte
			require.NoError(t, chromedp.Run(ctx,
				emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: view.scheme}}),
				chromedp.EmulateViewport(view.width, view.height),
				chromedp.Navigate(srv.URL+page),
				chromedp.Evaluate("document.documentElement.scrollWidth", &width),
				chromedp.Evaluate(contrast, &weak),
				chromedp.FullScreenshot(&shot, 100),
			), page)
			require.LessOrEqual(t, width, view.width, "%s is wider than the %s", page, view.name)
			require.Empty(t, weak, "%s in %s", page, view.name)
			name := filepath.Base(page)
			if page == "/" {
				name = "index"
			} else if filepath.Base(page) == id {
				name = "incident"
			}
			store(t, name+"-"+view.name+".png", shot)
		}
	}
	if *update {
		var shot []byte
		require.NoError(t, chromedp.Run(ctx,
			emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "light"}}),
			chromedp.EmulateViewport(1060, 900), chromedp.Navigate(srv.URL+"/incidents/"+id), chromedp.FullScreenshot(&shot, 100)))
		document(t, shot, 1060, 1380)
	}
	keyboard(t, ctx, srv.URL+"/incidents/"+id)
	mu.Lock()
	defer mu.Unlock()
	require.Empty(t, complaints, "what the browser refused or complained of")
}

// keyboard walks with the tabulator only: the first stop leads past the menu,
// and each stop can be seen.
func keyboard(t *testing.T, ctx context.Context, url string) { //nolint:revive // testing.T comes first everywhere here
	t.Helper()
	var first string
	var hidden []string
	require.NoError(t, chromedp.Run(ctx, chromedp.Navigate(url), chromedp.KeyEvent("\t"),
		chromedp.Evaluate("document.activeElement.textContent", &first)))
	require.Equal(t, "Skip to the content", first)
	for range 40 {
		var seen string
		require.NoError(t, chromedp.Run(ctx, chromedp.KeyEvent("\t"), chromedp.Evaluate(
			`(e => e === document.body || getComputedStyle(e).outlineStyle !== "none" ? "" : e.tagName + " " + e.textContent.slice(0, 30))(document.activeElement)`, &seen)))
		if seen != "" {
			hidden = append(hidden, seen)
		}
	}
	require.Empty(t, hidden, "stops of the keyboard that cannot be seen")
}

// store keeps a picture for people: in COLLWATCH_SCREENSHOTS if that is set.
func store(t *testing.T, name string, data []byte) {
	t.Helper()
	dir := os.Getenv("COLLWATCH_SCREENSHOTS")
	if dir == "" {
		dir = t.TempDir()
	}
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
}

// document writes the picture of the README, cut to what matters.
func document(t *testing.T, data []byte, width, height int) {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	cut, ok := img.(interface {
		SubImage(r image.Rectangle) image.Image
	})
	require.True(t, ok)
	var b bytes.Buffer
	enc := png.Encoder{CompressionLevel: png.BestCompression}
	require.NoError(t, enc.Encode(&b, cut.SubImage(image.Rect(0, 0, width, min(height, img.Bounds().Dy())))))
	require.LessOrEqual(t, b.Len(), 200<<10, fmt.Sprint("the picture is too large for a README: ", b.Len()))
	require.NoError(t, os.MkdirAll("../docs/images", 0o755))
	require.NoError(t, os.WriteFile("../docs/images/incident.png", b.Bytes(), 0o644))
}
