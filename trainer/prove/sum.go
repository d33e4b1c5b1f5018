package prove

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"boost-tui/experiment"
)

// LeastLimit is the least time in which a part can be begun and done.
const LeastLimit = 2 * leastBudget

// ErrTime is wrapped when the time was too short for any part that was asked for.
var ErrTime = errors.New("nothing was done")

// Sum is what a report comes to.
type Sum struct {
	OK      []string `json:"ok"`
	Failed  []string `json:"failed"`
	LeftOut []string `json:"left_out"` // though the report is incomplete without them
	// Optional parts are left out, too: for what no machine need have, or because they are nothing for the device.
	Optional []string `json:"left_out_optional"`
	Absent   []string `json:"absent"` // the report was broken off before them
	// Complete: every part is there once, none failed, and those that are left out may be.
	Complete bool   `json:"complete"`
	Measured bool   `json:"measured"`       // by a device that was opened
	Card     string `json:"card,omitempty"` // that was
}

// Sum counts the parts of a report.
func (r Report) Sum() Sum {
	s := Sum{OK: []string{}, Failed: []string{}, LeftOut: []string{}, Optional: []string{}, Absent: []string{}}
	seen := map[string]int{}
	for _, p := range r.Parts {
		seen[p.Name]++
		list := &s.Failed
		switch {
		case p.State == StateOK:
			list = &s.OK
		case p.State == StateLeftOut && p.Optional:
			list = &s.Optional
		case p.State == StateLeftOut:
			list = &s.LeftOut
		}
		*list = append(*list, p.Name)
		if p.measured() {
			s.Measured = true
			if card := p.card(); card != "" && (s.Card == "" || p.Name != PartTorch) { // which has its own words for cards
				s.Card = card
			}
		}
	}
	once := true
	for _, name := range Parts() {
		if seen[name] == 0 {
			s.Absent = append(s.Absent, name)
		}
		once = once && seen[name] == 1
	}
	s.Complete = once && len(s.Failed)+len(s.LeftOut) == 0
	return s
}

// String is it in one line.
func (s Sum) String() string {
	n := len(s.OK) + len(s.Failed) + len(s.LeftOut) + len(s.Optional)
	text := fmt.Sprintf("%d of %d parts are ok, %d failed, %d left out", len(s.OK), n+len(s.Absent), len(s.Failed), len(s.LeftOut)+len(s.Optional))
	if len(s.Absent) > 0 {
		text += fmt.Sprintf(", %d absent", len(s.Absent))
	}
	return text
}

// card is what a result names as its card.
func (p Part) card() string {
	var said struct {
		Card string `json:"card"`
	}
	if !carded(p.Name) || json.Unmarshal(p.Result, &said) != nil {
		return "" // of another shape, which is an error elsewhere
	}
	return said.Card
}

// measured reports whether a result shows that a device was opened.
func (p Part) measured() bool {
	switch p.Name {
	case PartVersions:
		return false
	case PartGoldenFP32, PartGoldenBF16:
		var g struct {
			Reports []json.RawMessage `json:"reports"`
		}
		return json.Unmarshal(p.Result, &g) == nil && len(g.Reports) > 0
	}
	if carded(p.Name) {
		return p.card() != ""
	}
	return p.State == StateOK && len(p.Result) > 0
}

// meaning is what the figures of a result are.
func (p Part) meaning(device string, tiny bool) string {
	switch {
	case p.measured():
		return figures(p.Name, device, tiny)
	case p.Name == PartVersions:
		return figuresListed
	case p.State == StateFailed:
		return figuresFailed
	}
	return figuresNone
}

// meaning is what the figures of the report are; where there are none, lacks say why.
func (r Report) meaning(lacks []Lack) string {
	switch {
	case r.Sum().Measured:
		return Figures(r.Device, r.Tiny)
	case r.Device == experiment.DeviceCUDA && slices.ContainsFunc(lacks, func(l Lack) bool { return l.Machine }):
		return figuresNoGPU
	case len(lacks) > 0:
		return figuresNoOpen
	}
	return figuresNone
}

// optional reports whether a report of a device can be complete without a part.
func optional(part, device string) bool {
	switch part {
	case PartTorch, PartMemcheck, PartRacecheck:
		return true
	case PartTwoRanks:
		return device == experiment.DeviceCUDA
	case PartKernels:
		return device == experiment.DeviceEmu
	}
	return false
}

// asked reports whether a part was.
func (p *proof) asked(part string) bool { return len(p.Only) == 0 || slices.Contains(p.Only, part) }

// timeError says that the time was too short for all that was asked for; nil: something was done, or there was another reason.
func (p *proof) timeError() error {
	if len(p.late) == 0 {
		return nil
	}
	for _, part := range p.report.Parts {
		listed := part.Name == PartVersions && !slices.Equal(p.Only, []string{PartVersions})
		if part.State != StateLeftOut && p.asked(part.Name) && !listed {
			p.Say("no time was left of %v for %s", p.Limit.Round(time.Second), strings.Join(p.late, ", "))
			return nil
		}
	}
	return fmt.Errorf("%w: %v are too short for %s; --limit sets more (%v)", ErrTime, p.Limit, strings.Join(p.late, ", "), TotalLimit)
}
