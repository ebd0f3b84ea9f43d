//go:build long

package slack

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/notify/alertmanager"
)

// TestLongPicture renders an incident and its chart as Slack shows them, in a
// real browser, and keeps the picture of the documentation with -update.
func TestLongPicture(t *testing.T) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium: install the package of that name")
	}
	var page string
	in(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) {
			withCharts(ChartNative)(o)
			o.AppToken = func(bool) (string, error) { return "", os.ErrNotExist }
			o.Silencer = noSilencer{}
			o.Renderer.DashboardURL, o.Renderer.RunbookURL = "https://grafana.example.org/d/job?host={host}", "https://git.example.org/runbooks/{class}.md"
		})
		r.tick(4, critical("gpu-007"))
		page = r.s.HTML()
	})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(page))
	}))
	defer srv.Close()
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WSURLReadTimeout(time.Minute))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), opts...)
	defer stop()
	tab, cancel := chromedp.NewContext(ctx)
	defer cancel()
	// The browser lives as long as the context of the first call: not that of
	// the limit, or it is gone before it is asked to close and never answers.
	require.NoError(t, chromedp.Run(tab))
	ctx, expire := context.WithTimeout(tab, 2*time.Minute)
	defer expire()
	defer func() { _ = chromedp.Cancel(tab) }() // waits for its processes
	var shot []byte
	var title string
	require.NoError(t, chromedp.Run(ctx, chromedp.EmulateViewport(760, 900), chromedp.Navigate(srv.URL),
		chromedp.Text("h1", &title), chromedp.FullScreenshot(&shot, 100)))
	require.Equal(t, "NIC degraded: gpu-007/mlx5_3 (leaf-r3 port 7)", title)
	require.Greater(t, len(shot), 10_000)
	if *update {
		require.NoError(t, os.WriteFile("../../docs/images/slack.png", shot, 0o644))
	}
}

// noSilencer stands for an Alertmanager that nobody asks.
type noSilencer struct{}

func (noSilencer) Silence(context.Context, alertmanager.SilenceRequest) (alertmanager.Silence, error) {
	return alertmanager.Silence{}, os.ErrInvalid
}
