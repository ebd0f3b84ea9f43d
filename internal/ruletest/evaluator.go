package ruletest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/rules"

	"github.com/collwatch/collwatch/internal/embedprom"
)

// Evaluator evaluates rule files on an embedded storage, as a server would: what
// they record, and the series ALERTS, go into the storage.
type Evaluator struct {
	groups []*rules.Group
}

// NewEvaluator loads rule files. Their groups are evaluated in the order of the
// files.
func NewEvaluator(ctx context.Context, db *embedprom.DB, interval time.Duration, paths ...string) (*Evaluator, error) {
	byKey, err := loadGroups(ctx, db, interval, paths)
	if err != nil {
		return nil, err
	}
	list := slices.Collect(maps.Values(byKey))
	slices.SortFunc(list, func(a, b *rules.Group) int {
		if d := slices.Index(paths, a.File()) - slices.Index(paths, b.File()); d != 0 {
			return d
		}
		return strings.Compare(a.Name(), b.Name())
	})
	for _, g := range list {
		for _, r := range g.AlertingRules() {
			r.SetRestored(true) // a rule writes ALERTS only then
		}
	}
	return &Evaluator{list}, nil
}

func loadGroups(ctx context.Context, db *embedprom.DB, interval time.Duration, paths []string) (map[string]*rules.Group, error) {
	byKey, errs := rules.NewManager(managerOptions(ctx, db)).LoadGroups(interval, labels.EmptyLabels(), "", nil, false, paths...)
	return byKey, errors.Join(errs...)
}

func managerOptions(ctx context.Context, db *embedprom.DB) *rules.ManagerOptions {
	engine, p := db.Engine()
	return &rules.ManagerOptions{
		QueryFunc: rules.EngineQueryFunc(engine, db.Storage()), AppendableV2: db.Appendable(), Queryable: db.Storage(), Context: ctx,
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {}, Logger: promslog.NewNopLogger(), ExternalURL: &url.URL{}, Parser: p,
	}
}

// Eval evaluates all groups at a time.
func (e *Evaluator) Eval(ctx context.Context, at time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, g := range e.groups {
		g.Eval(ctx, at)
		for _, r := range g.Rules() {
			if r.LastError() != nil {
				return fmt.Errorf("rule %s at %s: %w", r.Name(), at.UTC().Format(time.TimeOnly), r.LastError())
			}
		}
	}
	return nil
}

// Firing are the alerts that fire after the last evaluation, by their labels,
// that of their name among them.
func (e *Evaluator) Firing() []map[string]string {
	var out []map[string]string
	for _, g := range e.groups {
		for _, r := range g.AlertingRules() {
			for _, a := range r.ActiveAlerts() {
				if a.State == rules.StateFiring {
					ls := a.Labels.Map()
					ls[model.AlertNameLabel] = r.Name()
					out = append(out, ls)
				}
			}
		}
	}
	return out
}
