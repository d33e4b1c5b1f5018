package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"boost-tui/experiment"
	"boost-tui/runner/protocol"
	"boost-tui/trainer/devices"
	"boost-tui/trainer/golden"
)

// checked are the reference cases that every host computes: one of each kind of linear, the second on two ranks.
var checked = []struct {
	name string
	o    golden.Options
}{
	{"full_base", golden.Options{Scheme: experiment.FullRank, TP: 1}},
	{"cola_base", golden.Options{Scheme: experiment.BTP, TP: 2}},
}

// cases computes reference cases on this host.
func (p *probe) cases(ctx context.Context) error {
	if !p.leads() {
		return nil
	}
	all, err := golden.Cases()
	if err != nil {
		return err
	}
	yes, no := true, false
	for _, k := range checked {
		at := slices.IndexFunc(all, func(c golden.Case) bool { return c.Name == k.name })
		if at < 0 {
			return fmt.Errorf("this program has no case %s", k.name)
		}
		o := k.o
		o.SyncNorm, o.Grouped, o.Recompute = &no, &yes, []string{experiment.RecomputeNone}
		kind := p.Spec.Experiment.Step.Device
		if kind == experiment.DeviceCUDA {
			o.TP = 1 // the other GPUs are the other ranks'
		}
		o.Open = devices.InProcess(ctx, kind, p.Log)
		r, err := golden.Verify(ctx, all[at], o)
		if err != nil {
			return err
		}
		c := protocol.Case{Name: k.name, OK: r.OK}
		if !r.OK {
			c.Text = cut(strings.Join(r.Misses, "; "))
		}
		p.found.Node.Cases = append(p.found.Node.Cases, c)
	}
	return nil
}
