package sweeps

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"boost-tui/experiment"
	"boost-tui/runner"
	"boost-tui/runner/protocol"
	"boost-tui/sweeps/space"
)

// plan is plan-NNN.json: what was planned at one time. It belongs to the sweep once the journal says so.
type plan struct {
	Schema   int                   `json:"schema"`
	Created  time.Time             `json:"created"`
	Key      string                `json:"key"`  // space.Spec.Key
	TOML     string                `json:"toml"` // the file
	Base     experiment.Experiment `json:"base"`
	Keys     []string              `json:"keys"` // of the axes
	Raw      int                   `json:"raw"`
	Excluded int                   `json:"excluded"`
	Merged   int                   `json:"merged"`
	Points   []space.Point         `json:"points"` // that no earlier plan has
	Pruned   []space.Pruned        `json:"pruned"`
	Links    []space.Link          `json:"links,omitempty"` // twins of points of earlier plans
}

func newPlan(file space.File, x *space.Expansion) plan {
	return plan{
		Schema: Schema, Created: time.Now().UTC().Truncate(time.Microsecond), Key: file.Spec.Key(), TOML: string(file.TOML()),
		Base: x.Base, Keys: x.Keys, Raw: x.Raw, Excluded: x.Excluded, Merged: x.Merged, Points: x.Points, Pruned: x.Pruned, Links: x.Links,
	}
}

// encode is the file. What no reader would take is refused.
func (p plan) encode() ([]byte, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	data, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode a plan: %w", err)
	}
	if len(data) >= maxPlanBytes {
		return nil, fmt.Errorf("the plan takes %d bytes, more than %d: split the space into several sweeps", len(data), maxPlanBytes)
	}
	return append(data, '\n'), nil
}

// readPlan reads the plan of a sweep that its journal names.
func readPlan(dir string, n int) (plan, error) {
	name := planFile(n)
	data, err := protocol.ReadFile(filepath.Join(dir, name), maxPlanBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return plan{}, fmt.Errorf("%s is missing, though %s says that it was planned: put it back, or start the sweep anew with `boost-tui sweep %s --new`", name, JournalFile, filepath.Join(dir, TOMLFile))
	}
	if err != nil {
		return plan{}, err
	}
	p, err := parsePlan(data)
	if err != nil {
		return plan{}, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// parsePlan decodes a plan and makes its text safe.
func parsePlan(data []byte) (plan, error) {
	var p plan
	err := json.Unmarshal(data, &p)
	if p.Schema > Schema {
		return plan{}, newer("the plan", p.Schema)
	}
	if err != nil {
		return plan{}, fmt.Errorf("it is damaged: %w", err)
	}
	if p.Schema < 1 {
		return plan{}, errors.New("it is damaged: it has no schema")
	}
	if err := p.check(); err != nil {
		return plan{}, fmt.Errorf("it is damaged: %w", err)
	}
	p.clean()
	return p, nil
}

// check says whether the points can be kept apart, run and shown.
func (p *plan) check() error {
	if len(p.Points) > maxPoints {
		return fmt.Errorf("it has %d points, more than %d", len(p.Points), maxPoints)
	}
	for _, k := range experiment.Keys() {
		if v := k.Get(&p.Base); !tame(v) {
			return fmt.Errorf("%s: %q holds characters that steer a terminal", k.Name, runner.CleanTo(v, 60))
		}
	}
	seen := make(map[string]struct{}, len(p.Points))
	for i := range p.Points {
		q := &p.Points[i]
		if err := checkPointID(q.ID); err != nil {
			return fmt.Errorf("point %d: %w", i+1, err)
		}
		if _, twice := seen[q.ID]; twice {
			return fmt.Errorf("point %s is there twice", q.ID)
		}
		seen[q.ID] = struct{}{}
		if q.Ranks < 1 || q.Ranks > protocol.MaxRanks || q.Steps < 0 || !(q.FLOPs >= 0) {
			return fmt.Errorf("point %s with %d ranks, %d steps and %g FLOPs makes no sense", q.ID, q.Ranks, q.Steps, q.FLOPs)
		}
		if err := checkTwins(q.Full, q.Vanilla); err != nil {
			return fmt.Errorf("point %s: %w", q.ID, err)
		}
		for _, a := range q.Set {
			if !tame(a.Key) || !tame(a.Value) {
				return fmt.Errorf("point %s: %s = %q holds characters that steer a terminal", q.ID, text(a.Key), runner.CleanTo(a.Value, 60))
			}
		}
	}
	for _, l := range p.Links {
		if err := errors.Join(checkPointID(l.Point), checkTwins(l.Full, l.Vanilla)); err != nil {
			return err
		}
	}
	return nil
}

func checkTwins(ids ...string) error {
	for _, id := range ids {
		if id != "" && checkPointID(id) != nil {
			return fmt.Errorf("%q is not the id of a twin", runner.CleanTo(id, 40))
		}
	}
	return nil
}

// tame reports whether a value of an experiment can be shown as it is. A value is never made so: it would be another.
func tame(s string) bool {
	return plain(s) || utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	})
}

// clean makes whatever may be shown safe for a terminal.
func (p *plan) clean() {
	p.Key, p.Keys = text(p.Key), texts(p.Keys)
	for i := range p.Points {
		p.Points[i].Label = text(p.Points[i].Label)
	}
	for i := range p.Pruned {
		q := &p.Pruned[i]
		q.ID, q.Point, q.Key, q.Rule, q.Reason = text(q.ID), text(q.Point), text(q.Key), text(q.Rule), text(q.Reason)
		for j := range q.Set { // these are never run
			q.Set[j].Key, q.Set[j].Value = text(q.Set[j].Key), text(q.Set[j].Value)
		}
	}
}
