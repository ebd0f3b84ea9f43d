package alertmanager

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/alertmanager/api/v2/models"

	"github.com/collwatch/collwatch/incidents"
)

// Payload returns the alerts that a member which knows nothing would be sent
// for the given incidents, in the order of their fingerprints. keep is how long
// a firing alert stays alive without being repeated.
func Payload(live, ended []incidents.Incident, r *incidents.Renderer, now time.Time, keep time.Duration) models.PostableAlerts {
	want := desired(live, ended, r)
	out := make(models.PostableAlerts, 0, len(want))
	for _, f := range slices.Sorted(maps.Keys(want)) {
		out = append(out, want[f].model(now, keep))
	}
	return out
}
