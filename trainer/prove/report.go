package prove

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Schema of reports.
const Schema = 2

// States of a part.
const (
	StateOK      = "ok"
	StateFailed  = "failed"   // Reason says why; Result is what there is
	StateLeftOut = "left out" // Reason says why
)

// Report is what All writes, whole again after every part.
type Report struct {
	Schema   int             `json:"schema"`
	Device   string          `json:"device"`
	Tiny     bool            `json:"tiny"`    // sizes that say nothing about speed
	Figures  string          `json:"figures"` // what they mean
	Begun    time.Time       `json:"begun"`
	Seconds  float64         `json:"seconds"`
	Limit    float64         `json:"limit_s"`
	Complete bool            `json:"complete"` // false: broken off
	Program  json.RawMessage `json:"program"`  // its version
	Machine  Machine         `json:"machine"`
	Parts    []Part          `json:"parts"`
}

// Machine is where it ran; the part "versions" says more.
type Machine struct {
	Cores int    `json:"cores"`
	OS    string `json:"os"`
}

// Part is one part of a report.
type Part struct {
	Name    string          `json:"name"`
	State   string          `json:"state"`
	Reason  string          `json:"reason,omitempty"`
	Seconds float64         `json:"seconds"`
	Budget  float64         `json:"budget_s"`
	Figures string          `json:"figures,omitempty"` // what those of Result mean
	Result  json.RawMessage `json:"result,omitempty"`
}

// Tool is what another program printed.
type Tool struct {
	Program string `json:"program"`
	Output  string `json:"output"` // its end
}

// shapes are what the results of parts look like.
func shapes() map[string]func() any {
	m := map[string]func() any{
		PartVersions:   func() any { return &map[string]any{} },
		PartGoldenFP32: func() any { return &Golden{} },
		PartGoldenBF16: func() any { return &Golden{} },
		PartAgainstCPU: func() any { return &Against{} },
		PartProducts:   func() any { return &Products{} },
		PartAttention:  func() any { return &Attention{} },
		PartTorch:      func() any { return &Torch{} },
		PartElements:   func() any { return &Elements{} },
		PartKernels:    func() any { return &Tool{} },
		PartMemcheck:   func() any { return &Tool{} },
		PartRacecheck:  func() any { return &Tool{} },
		PartTwoRanks:   func() any { return &map[string]any{} },
	}
	for _, s := range stepParts {
		m[s.name] = func() any { return &Step{} }
	}
	return m
}

// Torch is PyTorch's attention at our shapes: scripts/sdpa.py.
type Torch struct {
	Torch string         `json:"torch"` // its version
	CUDA  string         `json:"cuda"`
	Card  string         `json:"card"`
	Rows  []AttentionRow `json:"rows"`
}

// Parse reads a report and verifies that it is one: every field known, every part there once, each result of its part's shape and of
// the report's device.
func Parse(data []byte) (Report, error) {
	var r Report
	if err := strict(data, &r); err != nil {
		return r, fmt.Errorf("report: %w", err)
	}
	if r.Schema != Schema {
		return r, fmt.Errorf("report of schema %d; this program knows %d", r.Schema, Schema)
	}
	var errs []error
	if r.Device == "" || r.Begun.IsZero() || r.Limit <= 0 || len(r.Program) == 0 || r.Machine.Cores <= 0 {
		errs = append(errs, errors.New("device, begun, limit_s, program or machine is missing"))
	}
	errs = append(errs, r.sameDevice())
	var names []string
	for _, p := range r.Parts {
		names = append(names, p.Name)
		if err := p.check(); err != nil {
			errs = append(errs, fmt.Errorf("part %s: %w", p.Name, err))
		}
	}
	for _, s := range plan() {
		n := 0
		for _, name := range names {
			if name == s.name {
				n++
			}
		}
		if n > 1 || r.Complete && n == 0 {
			errs = append(errs, fmt.Errorf("part %s is there %d times", s.name, n))
		}
	}
	return r, errors.Join(errs...)
}

func (p Part) check() error {
	shape, known := shapes()[p.Name]
	switch {
	case !known:
		return errors.New("unknown")
	case !slices.Contains([]string{StateOK, StateFailed, StateLeftOut}, p.State):
		return fmt.Errorf("state %q", p.State)
	case (p.State == StateOK) != (p.Reason == ""):
		return fmt.Errorf("%s for the reason %q", p.State, p.Reason)
	case p.State == StateOK && len(p.Result) == 0, p.State == StateLeftOut && len(p.Result) > 0:
		return fmt.Errorf("%s with %d bytes of result", p.State, len(p.Result))
	case len(p.Result) == 0:
		return nil
	}
	return strict(p.Result, shape())
}

// strict refuses what it does not know.
func strict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return errors.New("there is more behind it")
	}
	return nil
}
