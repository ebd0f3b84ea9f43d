package incidents

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// maxDeliveries bounds the receivers remembered for one incident.
const maxDeliveries = 64

// SetDeliveries stores what a receiver was told of incidents, by their IDs, so
// that it survives a restart. The name is the receiver's, such as
// "alertmanager/am-1" or "slack/C024BE91L"; the records are opaque, nil forgets.
// All are stored at once: who writes the state to disk does so once for a
// request that told of many. It returns an error if an incident is unknown,
// which is harmless: it is over and pruned, and the others are stored.
func (m *Manager) SetDeliveries(name string, records map[string]json.RawMessage) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(records)) {
		errs = append(errs, m.setDelivery(id, name, records[id]))
	}
	return errors.Join(errs...)
}

func (m *Manager) setDelivery(id, name string, record json.RawMessage) error {
	inc := m.find(id)
	if inc == nil {
		return fmt.Errorf("delivery of %s: no incident %s", name, id)
	}
	if record == nil {
		delete(inc.Deliveries, name)
		return nil
	}
	if inc.Deliveries == nil {
		inc.Deliveries = map[string]json.RawMessage{}
	}
	if _, known := inc.Deliveries[name]; !known && len(inc.Deliveries) >= maxDeliveries {
		return fmt.Errorf("delivery of %s: incident %s has %d receivers already", name, id, maxDeliveries)
	}
	inc.Deliveries[name] = record
	return nil
}

// Clear ends a latched or quiet incident by hand at the next evaluation that
// does not confirm it. by is who did it.
func (m *Manager) Clear(id, by string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, inc := range m.live {
		if inc.ID == id && inc.Active() {
			inc.Cleared = clip(by, maxLabelValue)
			return nil
		}
	}
	return fmt.Errorf("clear: no open incident %s", id)
}
