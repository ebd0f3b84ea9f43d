package topology

import (
	"github.com/collwatch/collwatch/topology/parse"
)

// switchNames gives each switch one name, whatever its sources call it: series
// name it as their findings do, tools give GUIDs, and two switches may have the
// same description.
type switchNames struct {
	byName map[string]string          // stripped name to the name that is used
	byGUID map[string]string          // GUID to stripped name, of the most trusted source
	guids  map[string]map[string]bool // stripped name to its GUIDs
}

func newSwitchNames() *switchNames {
	return &switchNames{byName: map[string]string{}, byGUID: map[string]string{}, guids: map[string]map[string]bool{}}
}

// learn notes a name. Sources are learnt from the most trusted to the least.
func (s *switchNames) learn(name, guid string) {
	key := parse.SwitchName(name)
	if key == "" {
		return
	}
	if _, ok := s.byName[key]; !ok {
		s.byName[key] = name
	}
	if guid == "" {
		return
	}
	if _, ok := s.byGUID[guid]; !ok || parse.GUID(s.byGUID[guid]) == guid {
		s.byGUID[guid] = key
	}
	if s.guids[key] == nil {
		s.guids[key] = map[string]bool{}
	}
	s.guids[key][guid] = true
}

// of returns the one name of a switch.
func (s *switchNames) of(name, guid string) string {
	key := parse.SwitchName(name)
	if guid == "" && len(key) >= 16 {
		guid = parse.GUID(key) // a switch that nobody named
	}
	if known := s.byGUID[guid]; guid != "" && known != "" {
		key = known
	}
	out := s.byName[key]
	if out == "" {
		out = key
	}
	if guid != "" && len(s.guids[key]) > 1 {
		return out + " (" + guid + ")"
	}
	return out
}
