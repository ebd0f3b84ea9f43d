// Package lastmile runs the daemon's way from verdicts to people inside a test:
// the incidents, both notifiers and the state on disk, against real
// Alertmanagers and a fake Slack.
//
// It exists since a lost or doubled notification comes from how the parts play
// together while one of them is down, slow or killed, and since only counting at
// the far end, where people are told, shows it.
package lastmile
