package prove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// whole is a report with every part, each ok or left out as a machine may have it.
func whole() Report {
	has := map[string]Part{}
	r := sound("cuda", "NVIDIA A100")
	for _, p := range r.Parts {
		has[p.Name] = p
	}
	r.Parts = nil
	for _, name := range Parts() {
		p, ok := has[name]
		switch {
		case ok:
		case optional(name, r.Device):
			p = Part{Name: name, State: StateLeftOut, Reason: "not here", Optional: true}
		default:
			p = Part{Name: name, State: StateOK, Result: withMark(name, r.Device, `{"card": "NVIDIA A100"}`)}
			p.Figures = p.meaning(r.Device, false)
		}
		r.Parts = append(r.Parts, p)
	}
	r.Complete = true
	return r
}

// A report is complete when every part is there once, none failed, and those that are left out may be; it never says otherwise.
func TestCompleteReport(t *testing.T) {
	at := func(r *Report, name string) *Part {
		return &r.Parts[slices.IndexFunc(r.Parts, func(p Part) bool { return p.Name == name })]
	}
	leaveOut := func(p *Part, optional bool) {
		*p = Part{Name: p.Name, State: StateLeftOut, Reason: "so", Optional: optional}
	}
	for name, c := range map[string]struct {
		change         func(*Report)
		complete, card bool
	}{
		"whole":             {func(*Report) {}, true, true},
		"no NCCL":           {func(r *Report) { leaveOut(at(r, PartTwoRanks), true) }, true, true},
		"broken off":        {func(r *Report) { r.Parts = r.Parts[:5] }, false, true},
		"nothing":           {func(r *Report) { r.Parts = nil }, false, false},
		"a part failed":     {func(r *Report) { p := at(r, PartAttention); p.State, p.Reason = StateFailed, "so" }, false, true},
		"a part left out":   {func(r *Report) { leaveOut(at(r, PartAttention), false) }, false, true},
		"no time for torch": {func(r *Report) { leaveOut(at(r, PartTorch), false) }, false, true},
		"no GPU": {func(r *Report) {
			for i := range r.Parts[1:] {
				leaveOut(&r.Parts[i+1], false)
			}
			r.Figures = figuresNoGPU
		}, false, false},
	} {
		for _, says := range []bool{false, true} {
			r := whole()
			c.change(&r)
			r.Complete = says
			if !c.card && r.Figures != figuresNoGPU {
				r.Figures = figuresNone
			}
			text, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Parse(text)
			sum := r.Sum()
			if sum.Complete != c.complete || sum.Measured != c.card || (sum.Card == "NVIDIA A100") != c.card || (err == nil) != (says == c.complete) {
				t.Errorf("%s, which says %v: %+v, %v", name, says, sum, err)
			}
			if n := len(sum.OK) + len(sum.Failed) + len(sum.LeftOut) + len(sum.Optional) + len(sum.Absent); n != len(plan()) {
				t.Errorf("%s: %d parts in %+v", name, n, sum)
			}
		}
	}
}

// Whatever stands in a report, it is not complete with a part that is there twice, and nothing may stand behind it.
func TestPartTwice(t *testing.T) {
	r := whole()
	r.Parts = append(r.Parts, r.Parts[len(r.Parts)-1])
	if r.Sum().Complete {
		t.Error("complete with a part twice")
	}
	text, err := json.Marshal(whole())
	if err != nil {
		t.Fatal(err)
	}
	for _, behind := range []string{"}", "]", "x", "{}", "0"} {
		if _, err := Parse(append(text[:len(text):len(text)], behind...)); err == nil {
			t.Errorf("%s behind it passes", behind)
		}
	}
	if _, err := Parse(append(text, "\n \n"...)); err != nil {
		t.Error(err)
	}
}

// No part says that a GPU was measured where none was opened, whatever is missing.
func TestNothingMeasured(t *testing.T) {
	for want, lack := range map[string]Lack{figuresNoGPU: {"GPU", "none", true}, figuresNoOpen: {"library", "none", false}} {
		for _, tiny := range []bool{false, true} {
			o := faulty(t)
			o.Tiny = tiny
			o.Lacks = func(context.Context) []Lack { return []Lack{lack} }
			_, _ = All(t.Context(), o) // that the device is missing
			r, _ := read(t, o.Out)
			text, err := json.Marshal(r)
			if err != nil || r.Figures != want || r.Complete || strings.Contains(string(text), Figures("cuda", false)) {
				t.Errorf("%v, %s", err, text)
			}
		}
	}
}

// Time that was too short for all that was asked for is an error, for some of it a word.
func TestTimeTooShort(t *testing.T) {
	done := func(name, state string) Part { return Part{Name: name, State: state} }
	for name, c := range map[string]struct {
		only  []string
		late  []string
		parts []Part
		err   bool
		says  bool
	}{
		"enough":            {nil, nil, []Part{done(PartVersions, StateOK), done(PartAttention, StateOK)}, false, false},
		"for some":          {nil, []string{PartElements}, []Part{done(PartVersions, StateOK), done(PartAttention, StateFailed)}, false, true},
		"for versions":      {nil, []string{PartElements}, []Part{done(PartVersions, StateOK), done(PartAttention, StateLeftOut)}, true, false},
		"for none":          {nil, []string{PartVersions, PartElements}, []Part{done(PartVersions, StateLeftOut)}, true, false},
		"for none of these": {[]string{PartElements}, []string{PartElements}, []Part{done(PartVersions, StateOK), done(PartElements, StateLeftOut)}, true, false},
		"for the one":       {[]string{PartVersions}, []string{PartVersions}, []Part{done(PartVersions, StateLeftOut)}, true, false},
	} {
		said := ""
		p := &proof{AllOptions: AllOptions{Only: c.only, Say: func(f string, args ...any) { said = fmt.Sprintf(f, args...) }}, late: c.late, report: Report{Parts: c.parts}}
		if err := p.timeError(); (err != nil) != c.err || err != nil && !errors.Is(err, ErrTime) || strings.Contains(said, PartElements) != c.says {
			t.Errorf("%s: %v, %q", name, err, said)
		}
	}
}
