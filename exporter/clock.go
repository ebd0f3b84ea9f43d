package exporter

import (
	"errors"
	"io"
	"time"

	"golang.org/x/sys/unix"
)

// clockTicks is the unit of start times in /proc; it is 100 on every Linux this runs on (sysconf _SC_CLK_TCK, proc(5)).
const clockTicks = 100

// hostClock reads both clocks of a pass.
func hostClock() (time.Time, int64) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return time.Now(), 0
	}
	return time.Now(), t.Nano()
}

// sinceBoot is the time since boot with suspension, in which /proc gives start times.
func sinceBoot() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return t.Nano()
}

func isEOF(err error) bool { return errors.Is(err, io.EOF) }
