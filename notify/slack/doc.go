// Package slack tells people in Slack what is wrong: one incident is one
// message, edited in place from the first second to the resolve.
//
// It exists because Alertmanager's own Slack receiver knows alerts and no
// incidents: it repeats, it cannot say why something ended, and it forgets which
// message was whose. This package remembers what it sent beside the incident,
// asks Alertmanager whether people are to be told at all, and follows the rules
// of Slack: a message a second, size limits of every part, edits by channel id
// and time stamp.
//
// Delivery goes in three steps, each with an owner. Sync takes the state of the
// incidents over. The gate decides for each incident and route whether it may be
// shown. A sender per channel shows it, the newest state only. What is about to
// be posted is noted before, and what was posted after, so that a crash between
// both is found out by looking into the channel.
package slack
