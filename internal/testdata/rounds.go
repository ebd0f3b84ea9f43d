package testdata

import "os"

// LongEnv asks for the full number of rounds in tests that repeat one thing
// with many seeds or over a long time.
const LongEnv = "COLLWATCH_LONG"

// Rounds is the number of rounds of such a test: usual, which shows a mistake
// in most cases, or full where COLLWATCH_LONG is set.
func Rounds(usual, full int) int {
	if os.Getenv(LongEnv) != "" {
		return full
	}
	return usual
}
