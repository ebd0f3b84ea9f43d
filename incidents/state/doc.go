// Package state keeps small files over restarts, kill -9 and full disks.
//
// It exists because an incident that is forgotten is resolved and fired again
// for everybody who is on call. Each file is written whole: temporary file,
// fsync, rename, fsync of the folder; the generation before stays as ".1". What
// cannot be read is moved aside and said, never overwritten and never a reason
// not to start.
package state
