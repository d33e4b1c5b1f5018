package results

import (
	"fmt"
	"math"
	"slices"

	"boost-tui/experiment"
	"boost-tui/profiler/stats"
)

// pace is a measured run.
type pace struct {
	experiment    experiment.Experiment
	configuration string
	flops         float64
	ranks         int
	seconds       float64
}

// basis is why an estimate of a point is believed, the best first.
type basis int

const (
	byItself  basis = iota // the rest of its steps at its own pace
	byRepeat               // runs of the same configuration
	byScheme               // runs of the same variant, scheme and ranks, scaled by FLOPs
	bySweep                // other runs of the sweep, scaled by FLOPs
	byStore                // other runs of this machine, scaled by FLOPs
	byNothing              //
)

var basisWords = [...]string{
	byItself: "the steps that it has made", byRepeat: "runs of the same configuration", byScheme: "runs of the same variant, scheme and ranks, scaled by FLOPs",
	bySweep: "other runs of the sweep, scaled by FLOPs", byStore: "earlier runs on this machine, scaled by FLOPs",
}

// paceBook finds the measured runs that are nearest to a point.
type paceBook struct {
	repeats map[string][]float64 // seconds, by configuration
	scheme  map[string][]float64 // seconds per FLOP, by variant, scheme and ranks
	sweep   []float64
	store   []float64
	middle  map[string]float64 // medians that were asked for
}

func newPaceBook(own, past []pace) *paceBook {
	b := &paceBook{repeats: map[string][]float64{}, scheme: map[string][]float64{}, middle: map[string]float64{}}
	for i, p := range slices.Concat(own, past) {
		b.repeats[p.configuration] = append(b.repeats[p.configuration], p.seconds)
		rate := p.rate()
		if !(rate > 0) || math.IsInf(rate, 0) {
			continue
		}
		b.scheme[p.kind()] = append(b.scheme[p.kind()], rate)
		if i < len(own) {
			b.sweep = append(b.sweep, rate)
		} else {
			b.store = append(b.store, rate)
		}
	}
	return b
}

// kind is what has one speed, about: the same way of computing on as many ranks.
func (p *pace) kind() string {
	e := &p.experiment
	return fmt.Sprintf("%s %s tp%d pp%d dp%d %s %s", e.Model.Variant, e.Parallel.Scheme, e.Parallel.TP, e.Parallel.PP, e.Parallel.DP, e.Step.Device, e.Step.DType)
}

// rate is the seconds that a FLOP takes. Ranks on the cpu share the machine's cores; ranks on devices have one each.
func (p *pace) rate() float64 {
	if p.experiment.Step.Device == experiment.DeviceCPU {
		return p.seconds / p.flops
	}
	return p.seconds * float64(p.ranks) / p.flops
}

// scaled is how long the work takes at a rate.
func (w *work) scaled(rate float64) float64 {
	if w.experiment.Step.Device == experiment.DeviceCPU {
		return rate * w.flops
	}
	return rate * w.flops / float64(max(1, w.ranks))
}

// of is how long a point still takes, and why that is believed.
func (b *paceBook) of(w work) (float64, basis) {
	if w.running && !math.IsNaN(w.left) {
		return w.left, byItself
	}
	seconds, why := b.whole(w)
	if w.running {
		seconds = max(0, seconds-w.since)
	}
	return seconds, why
}

// whole is how long a point takes from its start.
func (b *paceBook) whole(w work) (float64, basis) {
	if s := b.repeats[w.configuration]; len(s) > 0 && w.configuration != "" {
		return b.median("repeats "+w.configuration, s), byRepeat
	}
	if !(w.flops > 0) {
		return 0, byNothing
	}
	if s := b.scheme[w.kind()]; len(s) > 0 {
		return w.scaled(b.median("scheme "+w.kind(), s)), byScheme
	}
	if len(b.sweep) > 0 {
		return w.scaled(b.median("sweep", b.sweep)), bySweep
	}
	if len(b.store) > 0 {
		return w.scaled(b.median("store", b.store)), byStore
	}
	return 0, byNothing
}

func (b *paceBook) median(name string, of []float64) float64 {
	m, ok := b.middle[name]
	if !ok {
		m = stats.Median(of).Value
		b.middle[name] = m
	}
	return m
}
