package diagnosis

import (
	"regexp"
	"strings"
)

// plainDevice is a device name that means nothing to a shell. Names come from
// other people's labels, and commands are copied into terminals.
var plainDevice = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// fillCommand puts the suspect into the command where one device is named;
// otherwise the placeholder stays.
func (v *Verdict) fillCommand() {
	if len(v.Suspects) != 1 || !plainDevice.MatchString(v.Suspects[0].Device) {
		return
	}
	if s := v.Suspects[0]; s.Kind == "nic" || s.Kind == "link" {
		v.Command = strings.ReplaceAll(v.Command, "DEVICE", s.Device)
	}
}
