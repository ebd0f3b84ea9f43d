package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/common/promslog/flag"
	"github.com/prometheus/common/version"
)

// Exit codes, the same for all commands.
const (
	exitOK       = 0
	exitFailure  = 1
	exitUsage    = 2
	exitFindings = 3
)

// env is what a command gets from its caller. Results go to stdout, progress and
// logs to stderr.
type env struct {
	stdout, stderr io.Writer
	log            *slog.Logger
}

// exitError is an error with an exit code of its own. A nil Err prints nothing.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageError is an error in how the command was called or configured.
func usageError(err error) error { return &exitError{code: exitUsage, err: err} }

// action is the body of a command.
type action func(ctx context.Context, e *env) error

// run is main without the process: it may be called several times, and deferred
// calls run before it returns.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	app := kingpin.New("collwatch", "Finds degraded NICs, stalled collectives and stragglers in GPU training, from Prometheus.")
	app.Version(version.Print("collwatch"))
	app.HelpFlag.Short('h')
	app.UsageWriter(stdout)
	app.ErrorWriter(stderr)
	ended := -1
	app.Terminate(func(code int) {
		if ended < 0 {
			ended = code
		}
	})
	logging := promslog.Config{Writer: stderr}
	flag.AddFlags(app, &logging)

	actions := map[string]action{}
	for _, c := range commands {
		name, act := c(app)
		actions[name] = act
	}
	name, err := app.Parse(completing(joinDash(args)))
	if ended > 0 {
		return exitUsage // help about a command that there is not
	}
	if ended == 0 {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "collwatch: %s (see collwatch %s--help)\n", parseMessage(args, err), wordsOf(args, actions))
		return exitUsage
	}
	e := &env{stdout: stdout, stderr: stderr, log: promslog.New(&logging)}
	return exitCode(actions[name](ctx, e), stderr)
}

// parseMessage says what is wrong with a call. The library takes what is no
// command for an argument of the default command.
func parseMessage(args []string, err error) string {
	if len(args) > 0 && err.Error() == "unexpected "+args[0] {
		return fmt.Sprintf("no command %q", args[0])
	}
	return err.Error()
}

// wordsOf are the words of the command that was called, with a space, for a hint
// that leads to its flags.
func wordsOf(args []string, actions map[string]action) string {
	words := ""
	for _, arg := range args {
		known := false
		for name := range actions {
			known = known || strings.HasPrefix(name+" ", words+arg+" ")
		}
		if !known {
			break
		}
		words += arg + " "
	}
	return words
}

// completing drops the word that the shell completes, unless it is a flag or its
// value: the library takes the begin of a command for an argument of the default
// command and offers nothing. The shell itself drops what does not fit.
func completing(args []string) []string {
	if len(args) < 2 || args[0] != "--completion-bash" {
		return args
	}
	last, before := args[len(args)-1], args[len(args)-2]
	if strings.HasPrefix(last, "-") || (len(args) > 2 && strings.HasPrefix(before, "--")) {
		return args
	}
	return args[:len(args)-1]
}

func exitCode(err error, stderr io.Writer) int {
	if err == nil {
		return exitOK
	}
	code := exitFailure
	if ee, ok := errors.AsType[*exitError](err); ok {
		code = ee.code
	}
	if msg := err.Error(); msg != "" {
		fmt.Fprintf(stderr, "collwatch: %s\n", msg)
	}
	return code
}

// commands adds each command to the application and returns its full name and
// its body.
var commands = []func(*kingpin.Application) (string, action){
	runCommand,
	replayCommand,
	checkConfigCommand,
	coverageCommand,
	demoCommand,
	explainCommand,
	shadowCommand,
	hangCommand,
	compareCommand,
	baselineCommand,
	topologyCommand,
	reportCommand,
	rulesGenerateCommand,
	rulesCheckCommand,
	rulesTestCommand,
	versionCommand,
}

func versionCommand(app *kingpin.Application) (string, action) {
	cmd := app.Command("version", "Print version, build and Go release.")
	return cmd.FullCommand(), func(_ context.Context, e *env) error {
		_, err := fmt.Fprintln(e.stdout, version.Print("collwatch"))
		return err
	}
}

// joinDash writes "--out -" as "--out=-": kingpin loses a lone dash.
func joinDash(args []string) []string {
	var out []string
	for _, a := range args {
		if last := len(out) - 1; a == "-" && last >= 0 && strings.HasPrefix(out[last], "--") && !strings.Contains(out[last], "=") {
			out[last] += "=-"
			continue
		}
		out = append(out, a)
	}
	return out
}
