// Package fakeslack is a strict Slack for tests.
//
// It exists because no real Slack is reachable from a test, and because the
// fakes of client libraries accept what Slack refuses. This one knows the
// limits of Block Kit and answers with Slack's error names, refuses raw <, > and
// &, keeps one message a second in a channel, forgets messages that were
// deleted, and can be told to fail in each way that Slack does. What it saw is a
// transcript for golden files.
package fakeslack
