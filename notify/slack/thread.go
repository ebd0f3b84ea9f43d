package slack

import (
	"fmt"

	"github.com/collwatch/collwatch/incidents"
)

// line says in the thread what changed between two states, "" if nothing is
// worth a line. broadcast shows it in the channel too: a rise or a return has to
// reach those who do not follow the thread. Nothing is said aloud while the
// incident is suppressed, its resolve neither.
func line(before, now said, inc *incidents.Incident, held *hold) (text string, broadcast bool) {
	switch {
	case now.Suppressed && !before.Suppressed && !now.Over && held != nil:
		return escape(capital(held.Text)+".", maxLead), false
	case now.Suppressed:
		return "", false
	case now.Over && !before.Over:
		return escape(ending(inc), maxLead), false
	case before.Over && !now.Over:
		return escape("It came back: "+title(inc)+".", maxLead), true
	case before.Severity != now.Severity && before.Incident == now.Incident:
		return escape(fmt.Sprintf("Severity rises from %s to %s.", before.Severity, now.Severity), maxLead), true
	case before.Incident != now.Incident:
		return escape("Now known more exactly: "+title(inc)+".", maxLead), before.Severity != now.Severity
	case before.Suppressed && !now.Over:
		return "No longer silenced, inhibited or muted; the fault is still there.", false
	}
	return "", false
}
