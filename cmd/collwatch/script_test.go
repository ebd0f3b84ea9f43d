package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/collwatch/collwatch/internal/testdata"
	"github.com/collwatch/collwatch/sim"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"collwatch": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"scenario": writeScenario,
			"events":   checkEvents,
			"state":    writeState,
			"exits":    checkExit,
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("DATA", testdata.Find())
			env.Setenv("REPO", repo(t))
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "data":
				return testdata.Find() != "", nil
			case "race":
				return raceDetector, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		UpdateScripts: os.Getenv("UPDATE") != "",
	})
}

func repo(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// writeScenario writes a scenario of the simulator as OpenMetrics text:
// scenario S01 FILE [minutes after the onset].
func writeScenario(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: scenario ID FILE [minutes]")
	}
	s, ok := sim.Find(args[0])
	if !ok {
		ts.Fatalf("no scenario %s", args[0])
	}
	if len(args) > 2 {
		minutes, err := strconv.Atoi(args[2])
		ts.Check(err)
		s.After = time.Duration(minutes) * time.Minute
	}
	om := sim.NewOpenMetrics()
	run, err := s.New(sim.Params{Seed: 11, Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, om)
	ts.Check(err)
	ts.Check(run.Cluster.Run(context.Background(), run.Until))
	f, err := os.Create(ts.MkAbs(args[1]))
	ts.Check(err)
	defer f.Close()
	ts.Check(om.WriteGzip(f))
}

// checkExit runs a command that has to end with an exit code: exits CODE
// COMMAND [argument...].
func checkExit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [argument...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Check(err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, not %d", got, want)
	}
}

// checkEvents looks for an event in the JSON lines of a replay: events FILE
// key=value…, where node, device and kind are those of the first suspect, and
// before=TIME bounds when it was said. With "!" no event may match.
func checkEvents(ts *testscript.TestScript, neg bool, args []string) {
	f, err := os.Open(ts.MkAbs(args[0]))
	ts.Check(err)
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	var seen []string
	found := false
	for sc.Scan() {
		var ev map[string]any
		ts.Check(json.Unmarshal(sc.Bytes(), &ev))
		if list, ok := ev["suspects"].([]any); ok && len(list) > 0 {
			maps.Copy(ev, list[0].(map[string]any))
		}
		line := ""
		for _, k := range []string{"time", "event", "class", "reason", "severity", "confidence", "job", "kind", "node", "device", "switch", "withheld"} {
			if s, ok := ev[k].(string); ok {
				line += k + "=" + s + " "
			}
		}
		seen = append(seen, line)
		match := true
		for _, want := range args[1:] {
			if limit, ok := strings.CutPrefix(want, "before="); ok {
				at, _ := ev["time"].(string)
				match = match && at < limit // both RFC 3339 in UTC
				continue
			}
			match = match && strings.Contains(line, want+" ")
		}
		found = found || match
	}
	ts.Check(sc.Err())
	if found == neg {
		ts.Fatalf("events %v: found %v in:\n%s", args[1:], found, strings.Join(seen, "\n"))
	}
}
