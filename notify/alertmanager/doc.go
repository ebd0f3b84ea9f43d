// Package alertmanager tells Alertmanager what is wrong, and learns from it
// what is silenced.
//
// It exists because Alertmanager mirrors state and is no queue: it forgets an
// alert when its end passes, answers 200 for things that it drops, and stores
// half of what it refuses. The truth stays with the incidents; this package
// repeats it to every member of every target until that member has
// acknowledged the newest state, and checks afterwards that it is really there.
//
// Each member has its own goroutine, HTTP client and set of pending alerts, so
// that a dead one delays no other.
package alertmanager
