// Package incidents gives verdicts a life: pending, open, latched, resolved.
//
// It exists because a verdict is the opinion of one tick, while an on-call
// engineer wants one alert from the first second to the proof of recovery,
// through restarts and gaps. This package holds the truth about what is wrong
// and who was told; Alertmanager and Slack only mirror it.
package incidents
