package main

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"
)

// supervisor tells systemd how the daemon is. Without systemd all calls do
// nothing.
type supervisor struct {
	log      *slog.Logger
	period   time.Duration // of the watchdog, 0 if there is none
	progress atomic.Int64  // Unix nanoseconds of the last finished cycle
	allowed  atomic.Int64  // nanoseconds without a finished cycle that are healthy
}

// newSupervisor reads the watchdog's period from the environment.
func newSupervisor(log *slog.Logger) *supervisor {
	period, err := systemd.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("systemd watchdog is off: its environment cannot be read", "err", err)
		period = 0
	}
	return &supervisor{log: log, period: period}
}

// cycle notes that an evaluation finished; one that ended in an error has
// finished too: a slow store is no reason to restart.
func (s *supervisor) cycle(now time.Time) { s.progress.Store(now.UnixNano()) }

// healthy says whether evaluation makes progress.
func (s *supervisor) healthy(now time.Time) bool {
	last := s.progress.Load()
	return last == 0 || now.Sub(time.Unix(0, last)) <= time.Duration(s.allowed.Load())
}

func (s *supervisor) notify(state string) {
	if _, err := systemd.SdNotify(false, state); err != nil {
		s.log.Warn("cannot notify systemd", "state", state, "err", err)
	}
}

func (s *supervisor) ready()             { s.notify(systemd.SdNotifyReady) }
func (s *supervisor) stopping()          { s.notify(systemd.SdNotifyStopping) }
func (s *supervisor) status(text string) { s.notify("STATUS=" + text) }

// reloading must carry the monotonic time of the request, or systemd cannot
// tell it from an older one.
func (s *supervisor) reloading() {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		s.log.Warn("cannot read the monotonic clock", "err", err)
		return
	}
	s.notify(fmt.Sprintf("%s\nMONOTONIC_USEC=%d", systemd.SdNotifyReloading, ts.Nano()/1000))
}

// watch feeds the watchdog at half its period while evaluation makes progress.
func (s *supervisor) watch(stop <-chan struct{}) error {
	if s.period == 0 {
		<-stop
		return nil
	}
	t := time.NewTicker(s.period / 2)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return nil
		case now := <-t.C:
			if s.healthy(now) {
				s.notify(systemd.SdNotifyWatchdog)
			} else {
				s.log.Error("evaluation makes no progress: the watchdog is not fed", "allowed", time.Duration(s.allowed.Load()))
			}
		}
	}
}
