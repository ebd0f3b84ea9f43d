package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/alecthomas/kingpin/v2"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/signals"
)

// configFlag adds --config to a command. An empty value means that there is no
// file and all keys have their defaults.
func configFlag(cmd *kingpin.CmdClause, fallback string) *string {
	path := new(string)
	c := cmd.Flag("config", "Configuration file (TOML).").Short('c').Envar("COLLWATCH_CONFIG").PlaceHolder("FILE")
	if fallback != "" {
		c = c.Default(fallback)
		// An empty variable of a script is no configuration that is fine.
		cmd.Validate(func(*kingpin.CmdClause) error {
			if *path == "" {
				return errors.New("--config is empty: name the configuration file")
			}
			return nil
		})
	}
	c.StringVar(path)
	return path
}

// defaultConfig is where packages put the configuration.
const defaultConfig = "/etc/collwatch/config.toml"

// words are the names that a configuration may use and that other packages own.
func words() config.Words {
	var w config.Words
	for _, c := range diagnosis.Classes() {
		w.Classes = append(w.Classes, string(c))
	}
	for id := signals.None + 1; int(id) < signals.Count; id++ {
		w.Signals = append(w.Signals, id.String())
	}
	for _, d := range signals.Catalogue() {
		w.Dialects = append(w.Dialects, d.Name)
	}
	w.Detectors = detectors.Optional()
	return w
}

// loadConfig reads a configuration and reports all its mistakes. Without a path
// it gives the defaults, for commands that need no server.
func loadConfig(path string, opts ...config.Option) (*config.Config, error) {
	if path == "" {
		c := config.Default()
		return &c, nil
	}
	c, err := config.Load(path, append([]config.Option{config.WithWords(words())}, opts...)...)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usageError(fmt.Errorf("%w: name the file with --config", err))
	}
	if err != nil {
		return nil, usageError(err)
	}
	return c, nil
}

func checkConfigCommand(app *kingpin.Application) (string, action) {
	cmd := app.Command("check-config", "Check a configuration file and report all mistakes at once.")
	path := configFlag(cmd, defaultConfig)
	skip := cmd.Flag("skip-files", "Do not look at files that the configuration names, such as secrets.").Bool()
	show := cmd.Flag("print", "Print the effective configuration, secrets masked.").Bool()
	return cmd.FullCommand(), func(_ context.Context, e *env) error {
		var opts []config.Option
		if *skip {
			opts = append(opts, config.SkipFiles())
		}
		cfg, err := loadConfig(*path, opts...)
		if err != nil {
			return err
		}
		if _, err := assembleOptions(cfg); err != nil {
			return usageError(fmt.Errorf("%s: %w", *path, err))
		}
		if !*show {
			_, err = fmt.Fprintf(e.stdout, "%s: fine\n", *path)
			return err
		}
		text, err := cfg.Masked()
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(e.stdout, text)
		return err
	}
}
