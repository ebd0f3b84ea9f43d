package main

import (
	"context"
	"time"

	"github.com/collwatch/collwatch/config"
)

// watchIdle is how often the interval is looked up while watching is off: a
// reload may switch it on.
const watchIdle = 30 * time.Second

// watch loads the configuration again when its file has changed, until ctx
// ends. A file whose content was tried and refused is not tried again before it
// changes.
func (d *daemon) watch(ctx context.Context) error {
	tried := ""
	for {
		every := d.current.Load().cfg.Global.ReloadInterval.Std()
		wait := time.NewTimer(max(every, time.Second))
		if every <= 0 {
			wait.Reset(watchIdle)
		}
		select {
		case <-ctx.Done():
			wait.Stop()
			return nil
		case <-wait.C:
		}
		if every > 0 {
			tried = d.reloadIfChanged(tried)
		}
	}
}

// reloadIfChanged compares the file's hash with the running configuration's and
// with that tried last, which it returns.
func (d *daemon) reloadIfChanged(tried string) string {
	hash, err := config.HashFile(d.path)
	if err != nil || hash == tried || hash == d.current.Load().cfg.Hash {
		return tried // also while the file is being exchanged
	}
	_ = d.reload() // logged and counted there
	return hash
}
