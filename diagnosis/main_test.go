package diagnosis_test

import (
	"flag"
	"os"
	"strconv"
	"testing"

	"github.com/collwatch/collwatch/internal/testdata"
)

// TestMain sets how many cases the property tests draw: each runs a cluster for
// the better part of an hour.
func TestMain(m *testing.M) {
	if f := flag.Lookup("rapid.checks"); f != nil {
		if err := f.Value.Set(strconv.Itoa(testdata.Rounds(15, 100))); err != nil {
			panic(err)
		}
	}
	flag.Parse()
	os.Exit(m.Run())
}
