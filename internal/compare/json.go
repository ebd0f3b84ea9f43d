package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"
)

type jsonResult struct {
	Verdict    Verdict    `json:"verdict"`
	Why        string     `json:"why"`
	FailOn     float64    `json:"fail_on"`
	Confidence float64    `json:"confidence"`
	Tests      int        `json:"tests"`
	Base       jsonRecord `json:"baseline"`
	Cand       jsonRecord `json:"candidate"`
	Notes      []string   `json:"notes"`
	Rows       []jsonRow  `json:"rows"`
	Run        []jsonEst  `json:"run"`
}

type jsonRecord struct {
	Source string    `json:"source"`
	Jobs   []string  `json:"jobs"`
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	GPUs   []string  `json:"gpus"`
	Faults []Fault   `json:"faults"`
}

type jsonRow struct {
	Base    *Key      `json:"baseline"`
	Cand    *Key      `json:"candidate"`
	Verdict Verdict   `json:"verdict"`
	Why     string    `json:"why"`
	Causes  []string  `json:"causes"`
	Metrics []jsonEst `json:"metrics"`
}

type jsonEst struct {
	Metric    Metric   `json:"metric"`
	Unit      string   `json:"unit"`
	Kind      string   `json:"change_kind"` // relative or difference
	Base      float64  `json:"baseline"`
	Cand      float64  `json:"candidate"`
	Change    *float64 `json:"change"`
	Low       *float64 `json:"low"`
	High      *float64 `json:"high"`
	BaseN     int      `json:"baseline_blocks"`
	CandN     int      `json:"candidate_blocks"`
	Effective float64  `json:"effective_blocks"`
	Phi       float64  `json:"autocorrelation"`
}

// WriteJSON writes a result for programs. What could not be computed is null.
func WriteJSON(w io.Writer, res *Result) error {
	out := jsonResult{
		Verdict: res.Verdict, Why: res.Why, FailOn: res.Settings.FailOn, Confidence: res.Settings.Confidence, Tests: res.Tests,
		Base: toJSON(res.Base), Cand: toJSON(res.Cand), Notes: notNil(res.Notes), Rows: []jsonRow{}, Run: estimates(res.Run),
	}
	for i := range res.Rows {
		r := &res.Rows[i]
		row := jsonRow{Verdict: r.Verdict, Why: r.Why, Causes: notNil(r.Causes), Metrics: estimates(r.Metrics)}
		if r.Base != nil {
			row.Base = &r.Base.Key
		}
		if r.Cand != nil {
			row.Cand = &r.Cand.Key
		}
		out.Rows = append(out.Rows, row)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(out); err != nil {
		return fmt.Errorf("comparison as JSON: %w", err)
	}
	return nil
}

func toJSON(r *Record) jsonRecord {
	return jsonRecord{Source: r.Source, Jobs: notNil(r.Jobs), From: r.From.UTC(), To: r.To.UTC(), GPUs: notNil(r.GPUs), Faults: append([]Fault{}, r.Faults...)}
}

func estimates(list []Estimate) []jsonEst {
	out := make([]jsonEst, 0, len(list))
	for i := range list {
		e := &list[i]
		kind := "relative"
		if metrics[e.Metric].points {
			kind = "difference"
		}
		out = append(out, jsonEst{
			Metric: e.Metric, Unit: metrics[e.Metric].unit, Kind: kind, Base: e.Base, Cand: e.Cand, Change: finite(e.Change), Low: finite(e.Low),
			High: finite(e.High), BaseN: e.BaseN, CandN: e.CandN, Effective: e.Effective, Phi: e.Phi,
		})
	}
	return out
}

func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
