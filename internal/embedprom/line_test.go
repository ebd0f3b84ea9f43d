package embedprom

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/stretchr/testify/require"
)

// checkLine compares parseSample with the library on a line that both accept.
func checkLine(t *testing.T, line []byte) {
	t.Helper()
	if len(line) == 0 || line[0] == '#' {
		return
	}
	p := textparse.NewOpenMetricsParser(append(append([]byte(nil), line...), "\n# EOF\n"...), labels.NewSymbolTable())
	kind, perr := p.Next()
	got, err := parseSample(line)
	if perr != nil || kind != textparse.EntrySeries {
		return // newSeries refuses it
	}
	text, ts, v := p.Series()
	if ts == nil || *ts < 0 || *ts >= maxTimestamp {
		require.Error(t, err)
		return
	}
	if err != nil {
		return // we may be stricter
	}
	require.Equal(t, string(text), string(got.series))
	require.InDelta(t, float64(*ts), float64(got.t), 1)
	if !math.IsNaN(v) || !math.IsNaN(got.v) {
		require.Equal(t, v, got.v)
	}
}

// FuzzSample checks that the quick reading of a line agrees with that of the
// Prometheus library.
func FuzzSample(f *testing.F) {
	for line := range strings.SplitSeq(goodText, "\n") {
		f.Add([]byte(line))
	}
	f.Add([]byte(`m{a="}"} 0x1p3 1`))
	f.Add([]byte(`m{} -0 1e3 # {} 1`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.IndexByte(line, '\n') < 0 {
			checkLine(t, line)
		}
	})
}
