package exporter

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestResidentMemory: the program stays below 30 MB while it is scraped on a
// node of 8 processes with 32 communicators each.
func TestResidentMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the program")
	}
	dir := t.TempDir()
	bin := filepath.Join(t.TempDir(), "collwatch-exporter")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "../cmd/collwatch-exporter").CombinedOutput()
	require.NoError(t, err, "%s", out)
	busyNode(t, dir, 8, 32)
	address := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	cmd := exec.CommandContext(t.Context(), bin, "--dir", dir, "--web.listen-address", address)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	scrape := func() int64 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/metrics", nil)
		require.NoError(t, err)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0 // not up yet
		}
		defer func() { _ = res.Body.Close() }()
		n, err := io.Copy(io.Discard, res.Body)
		require.NoError(t, err)
		return n
	}
	require.Eventually(t, func() bool { return scrape() > 5_000_000 }, time.Minute, 100*time.Millisecond)
	best := time.Hour
	for range 20 {
		begin := time.Now()
		scrape()
		best = min(best, time.Since(begin))
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	require.NoError(t, err)
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.Atoi(strings.Fields(rest)[0])
			require.NoError(t, err)
			t.Logf("%d kB resident, the fastest of 20 scrapes took %s", kb, best)
			require.Less(t, kb, 30<<10)
			return
		}
	}
	t.Fatal("no VmRSS")
}
