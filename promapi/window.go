package promapi

import (
	"errors"
	"fmt"
	"time"
)

// Align returns the newest evaluation time that a store with the given lag can
// answer at now: now − offset, cut down to a multiple of interval since the
// Unix epoch. Live and replayed ticks use it alike, so both see the same
// samples.
func Align(now time.Time, offset, interval time.Duration) time.Time {
	ms := now.Add(-offset).UnixMilli()
	step := interval.Milliseconds()
	if step <= 0 {
		return time.UnixMilli(ms)
	}
	return time.UnixMilli(floorDiv(ms, step) * step)
}

// Steps returns the first and the last multiple of w.Step inside w and how many
// there are, 0 if there is none. Step must be a positive multiple of a
// millisecond.
func (w Window) Steps() (first, last time.Time, n int64, err error) {
	if w.Step <= 0 || w.Step%time.Millisecond != 0 {
		return first, last, 0, fmt.Errorf("step of a range must be a positive number of milliseconds, got %s", w.Step)
	}
	if w.End.Before(w.Start) {
		return first, last, 0, errors.New("a range ends before it starts")
	}
	step := w.Step.Milliseconds()
	lo := ceilDiv(ceilMilli(w.Start), step)
	hi := floorDiv(w.End.UnixMilli(), step)
	if hi < lo {
		return first, last, 0, nil
	}
	return time.UnixMilli(lo * step), time.UnixMilli(hi * step), hi - lo + 1, nil
}

func ceilMilli(t time.Time) int64 {
	ms := t.UnixMilli()
	if t.After(time.UnixMilli(ms)) {
		ms++
	}
	return ms
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func ceilDiv(a, b int64) int64 { return -floorDiv(-a, b) }
