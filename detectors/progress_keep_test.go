package detectors_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/detectors"
)

// TestProgressRecallsNothingThatCannotBe: files are edited, cut and mixed up.
func TestProgressRecallsNothingThatCannotBe(t *testing.T) {
	for name, tc := range map[string]struct{ progress, err string }{
		"nothing":          {`{}`, ""},
		"no jobs":          {`{"at":"2026-03-01T12:00:00Z","jobs":{}}`, ""},
		"an unknown clock": {`{"at":"2026-03-01T12:00:00Z","jobs":{"1":{"talking":600000000000,"ran":{"sundial":1}}}}`, ""},
		"an unknown state": {`{"at":"2026-03-01T12:00:00Z","jobs":{"1":{"talking":1,"stop":{"things":[{"host":"a","state":"dancing"}]}}}}`, ""},
		"negative time":    {`{"jobs":{"1":{"talking":-1}}}`, `job "1": what is kept of its progress cannot be`},
		"too many pauses":  {`{"jobs":{"1":{"pauses":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}}}`, `job "1": what is kept of its progress cannot be`},
		"a stop that is still to come": {
			`{"at":"2026-03-01T12:00:00Z","jobs":{"1":{"stop":{"watched":"2027-03-01T12:00:00Z"}}}}`, `job "1": what is kept of its stop cannot be`,
		},
		"no object": {`[]`, "cannot unmarshal"},
	} {
		t.Run(name, func(t *testing.T) {
			err := detectors.NewBank(detectors.Options{}).Restore([]byte(`{"version":1,"sections":{"progress":` + tc.progress + `}}`))
			if tc.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.err)
		})
	}
}
