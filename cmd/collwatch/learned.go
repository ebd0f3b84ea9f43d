package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/diagnosis"
)

// learned is everything that the daemon learned and would have to learn again:
// the baselines of the detectors and the memories of the diagnosis.
type learned struct {
	bank      *detectors.Bank
	diagnoser *diagnosis.Diagnoser
}

// learnedFile is the form of the baselines file.
type learnedFile struct {
	Detectors json.RawMessage `json:"detectors"`
	Diagnosis json.RawMessage `json:"diagnosis"`
}

// Save returns the content of the baselines file.
func (l learned) Save() ([]byte, error) {
	bank, err := l.bank.Save()
	if err != nil {
		return nil, err
	}
	diag, err := l.diagnoser.Save()
	if err != nil {
		return nil, err
	}
	return json.Marshal(learnedFile{bank, diag})
}

// Restore takes what Save returned. One part that cannot be read does not cost
// the other.
func (l learned) Restore(data []byte) error {
	var in learnedFile
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("baselines: %w", err)
	}
	return errors.Join(l.bank.Restore(in.Detectors), l.diagnoser.Restore(in.Diagnosis))
}
