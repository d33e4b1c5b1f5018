package prove

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// Without the device the report is whole, and says of each part what is missing for it.
func TestDeviceThatCannotBeHad(t *testing.T) {
	o := faulty(t)
	o.Lacks = func(context.Context) []Lack {
		if _, parts := read(t, o.Out); len(parts) != 0 {
			t.Error("parts were done before the device was there")
		}
		return []Lack{{"driver", "no driver", true}, {"library", "library x was not found", false}}
	}
	_, err := All(t.Context(), o)
	if !errors.Is(err, ErrLacks) || !strings.Contains(err.Error(), "driver: no driver; library x was not found") {
		t.Errorf("%v", err)
	}
	r, parts := read(t, o.Out)
	if r.Complete || len(parts) != len(plan()) || parts[PartVersions].State != StateOK || r.Figures != figuresNoGPU || parts[PartVersions].Figures != figuresListed {
		t.Errorf("%+v", r)
	}
	const machine = "driver: no driver"
	const device = machine + "; library x was not found"
	for name, p := range parts {
		want := device
		switch name {
		case PartVersions:
			continue
		case PartTorch:
			want = machine + "; there is no Python: "
		case PartKernels:
			want = machine + "; ops_test "
		case PartTwoRanks:
			want = device + "; NCCL is 2.27.3"
		case PartMemcheck, PartRacecheck: // and compute-sanitizer, where that is missing too
		default:
			want += "\n"
		}
		if p.State != StateLeftOut || p.Optional || !strings.HasPrefix(p.Reason+"\n", want) {
			t.Errorf("%s is %s: %s", name, p.State, p.Reason)
		}
	}
}

// What ends while the device is made ready leaves a report, too.
func TestBrokenOffBeforeTheFirst(t *testing.T) {
	o := faulty(t)
	ctx, stop := context.WithCancel(t.Context())
	o.Lacks = func(context.Context) []Lack { stop(); return []Lack{{"device", "interrupted", false}} }
	if _, err := All(ctx, o); err == nil || errors.Is(err, ErrLacks) || !strings.Contains(err.Error(), "after 0 of") {
		t.Errorf("%v", err)
	}
	if r, parts := read(t, o.Out); r.Complete || len(parts) != 0 {
		t.Errorf("%+v", r)
	}
}
