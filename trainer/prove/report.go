package prove

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// Schema of reports.
const Schema = 3

// MostReport bounds the bytes of a report.
const MostReport = 128 << 20

// States of a part.
const (
	StateOK      = "ok"
	StateFailed  = "failed"   // Reason says why; Result is what there is
	StateLeftOut = "left out" // Reason says why
)

// Report is what All writes, whole again after every part.
type Report struct {
	Schema  int    `json:"schema"`
	Device  string `json:"device"`
	Tiny    bool   `json:"tiny"`    // sizes that say nothing about speed
	Figures string `json:"figures"` // what they mean, or that nothing was measured
	// EmulatedDevice: its times say nothing about a GPU.
	EmulatedDevice bool            `json:"emulated_device,omitempty"`
	Begun          time.Time       `json:"begun"`
	Seconds        float64         `json:"seconds"`
	Limit          float64         `json:"limit_s"`
	Complete       bool            `json:"complete"` // every part is there, none failed, and those that are left out may be
	Program        json.RawMessage `json:"program"`  // its version
	Machine        Machine         `json:"machine"`
	Parts          []Part          `json:"parts"`
}

// Machine is where it ran; the part "versions" says more.
type Machine struct {
	Cores int    `json:"cores"`
	OS    string `json:"os"`
}

// Part is one part of a report.
type Part struct {
	Name    string  `json:"name"`
	State   string  `json:"state"`
	Reason  string  `json:"reason,omitempty"`
	Seconds float64 `json:"seconds"`
	Budget  float64 `json:"budget_s"`
	// Optional: what it lacks no machine need have, or it is nothing for the device. A report is complete without it.
	Optional bool            `json:"optional,omitempty"`
	Figures  string          `json:"figures,omitempty"` // what those of Result mean
	Result   json.RawMessage `json:"result,omitempty"`
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

// Parse reads a report and verifies that it is one: every field known, no part there twice, each result of its part's shape and of the
// report's device, and what it says of itself as its parts do. Whether it proves anything says Sum.
func Parse(data []byte) (Report, error) {
	var r Report
	if err := strict(data, &r); err != nil {
		return r, err
	}
	if r.Schema != Schema {
		return r, fmt.Errorf("schema %d; this program knows %d", r.Schema, Schema)
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
			errs = append(errs, fmt.Errorf("part %.60q: %w", p.Name, err))
		}
		if p.Optional && !optional(p.Name, r.Device) {
			errs = append(errs, fmt.Errorf("part %.60q: it is not optional on device %.40q", p.Name, r.Device))
		}
	}
	for _, s := range plan() {
		n := 0
		for _, name := range names {
			if name == s.name {
				n++
			}
		}
		if n > 1 {
			errs = append(errs, fmt.Errorf("part %s is there %d times", s.name, n))
		}
	}
	if want := r.Sum().Complete; r.Complete != want {
		errs = append(errs, fmt.Errorf("complete is %v; by its parts it is %v", r.Complete, want))
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
	case p.Optional && p.State != StateLeftOut:
		return fmt.Errorf("%s, and optional", p.State)
	case len(p.Result) == 0:
		return nil
	}
	result := shape()
	if err := strict(p.Result, result); err != nil {
		return err
	}
	switch r := result.(type) {
	case *map[string]any:
		if p.State == StateOK && len(*r) == 0 {
			return errors.New("its result says nothing")
		}
	case *Tool:
		if p.State == StateOK && r.Program == "" {
			return errors.New("its result names no program")
		}
	}
	return nil
}

// strict refuses what it does not know.
func strict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more behind it")
	}
	return nil
}
