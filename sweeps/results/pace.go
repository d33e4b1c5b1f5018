package results

import (
	"math"

	"boost-tui/experiment"
	"boost-tui/profiler/stats"
)

// pace is a measured run.
type pace struct {
	experiment experiment.Experiment
	flops      float64
	ranks      int
	seconds    float64
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

// sample is what several runs measured. Its median is worked out once, when all of them are in.
type sample struct {
	values []float64
	middle float64
	known  bool
}

func (s *sample) add(v float64) { s.values = append(s.values, v) }

func (s *sample) median() float64 {
	if !s.known {
		s.middle, s.known = stats.Median(s.values).Value, true
	}
	return s.middle
}

// paceBook finds the measured runs that are nearest to a point.
type paceBook struct {
	repeats map[configuration]*sample // seconds
	scheme  map[kind]*sample          // seconds per FLOP
	sweep   sample                    // the same, of the sweep's runs
	store   sample                    // and of others
}

func newPaceBook(own, past []pace) *paceBook {
	b := &paceBook{repeats: map[configuration]*sample{}, scheme: map[kind]*sample{}}
	for i := range own {
		b.add(&own[i], &b.sweep)
	}
	for i := range past {
		b.add(&past[i], &b.store)
	}
	return b
}

func (b *paceBook) empty() bool { return len(b.repeats) == 0 }

func (b *paceBook) add(p *pace, all *sample) {
	grow(b.repeats, configurationOf(&p.experiment)).add(p.seconds)
	rate := p.rate()
	if !(rate > 0) || math.IsInf(rate, 0) {
		return
	}
	grow(b.scheme, kindOf(&p.experiment)).add(rate)
	all.add(rate)
}

func grow[K comparable](m map[K]*sample, k K) *sample {
	s := m[k]
	if s == nil {
		s = &sample{}
		m[k] = s
	}
	return s
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
func (b *paceBook) of(w *work) (float64, basis) {
	if w.running && !math.IsNaN(w.left) {
		return w.left, byItself
	}
	if b.empty() {
		return 0, byNothing
	}
	seconds, why := b.whole(w)
	if w.running {
		seconds = max(0, seconds-w.since)
	}
	return seconds, why
}

// whole is how long a point takes from its start.
func (b *paceBook) whole(w *work) (float64, basis) {
	if s := b.repeats[configurationOf(&w.experiment)]; s != nil {
		return s.median(), byRepeat
	}
	if !(w.flops > 0) {
		return 0, byNothing
	}
	if s := b.scheme[kindOf(&w.experiment)]; s != nil {
		return w.scaled(s.median()), byScheme
	}
	if len(b.sweep.values) > 0 {
		return w.scaled(b.sweep.median()), bySweep
	}
	if len(b.store.values) > 0 {
		return w.scaled(b.store.median()), byStore
	}
	return 0, byNothing
}
