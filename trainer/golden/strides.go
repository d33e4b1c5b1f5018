package golden

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"boost-tui/step"
)

// medians collects what medians are taken of.
type medians struct{ gradients, updates []float64 }

// compareStrides holds the steps of every rank against those of the reference device's.
func (c Case) compareStrides(ranks, leaders []outcome, m *comparison) {
	r, most := m.report, m.most
	var all medians
	for rank, o := range ranks {
		want := leaders[rank]
		for i := range o.strides {
			m.note(&r.LossMaxAbsError, math.Abs(o.loss[i]-want.loss[i]), most.loss, "loss of step %d on rank %d", i, rank)
			m.note(&r.GradientMaxRelError, math.Abs(o.norm[i]-want.norm[i])/want.norm[i], most.gradient, "gradient norm of step %d on rank %d", i, rank)
			at := fmt.Sprintf("step %d on rank %d", i, rank)
			c.compareGradients(o.strides[i], want.strides[i], want.norm[i], &all, at, m)
			c.compareChanges(o.strides[i], want.strides[i], c.exact(i), &all, at, m)
		}
		m.note(&r.LossMaxAbsError, math.Abs(o.after-want.after), most.loss, "loss after the last step on rank %d", rank)
	}
	for i := range leaders[0].strides {
		if c.exact(i) {
			c.compareProducts(ranks, leaders, i, &all, m)
			continue // directions have taken the place of gradients
		}
		own := wholeNorm(ranks, func(o outcome) map[string]shard { return o.strides[i].grads })
		for rank, o := range ranks {
			m.note(&r.GradientMaxRelError, math.Abs(o.norm[i]-own)/own, halfNormTolerance, "gradient norm of step %d on rank %d against that of its own gradients", i, rank)
		}
	}
	m.note(&r.GradientMedianRelError, median(all.gradients), most.gradientMedian, "median over the gradients of all tensors and steps")
	m.note(&r.FinalMedianRelError, median(all.updates), most.updateMedian, "median over the changes of all tensors and steps")
}

// wholeNorm is the norm of everything that ranks hold together, each element once.
func wholeNorm(ranks []outcome, of func(outcome) map[string]shard) float64 {
	seen, square := map[string]bool{}, 0.0
	for _, o := range ranks {
		for name := range of(o) {
			if !seen[name] {
				seen[name] = true
				n := norm(whole(ranks, name, of)[0])
				square += n * n
			}
		}
	}
	return math.Sqrt(square)
}

// exact reports whether step i, counted from 0, gives factors another basis, whose signs are the device's choice.
func (c Case) exact(i int) bool { f := c.Optimizer.LoroFreq; return f > 0 && (i+1)%f == 0 }

func (c Case) compareGradients(got, want stride, whole float64, all *medians, at string, m *comparison) {
	r, most := m.report, m.most
	for name, w := range want.grads {
		g := got.grads[name]
		if c.zero(name) {
			var zero distance
			zero.add(g.data, nil)
			m.note(&r.GradientMaxRelError, math.Sqrt(zero.square)/whole, halfZeroTolerance, "gradient of %s, which is zero, in %s", name, at)
			continue
		}
		var d distance
		for _, s := range w.parts() {
			d.add(g.data[s[0]:s[1]], w.data[s[0]:s[1]])
		}
		if d.nothing() {
			continue
		}
		all.gradients = append(all.gradients, d.relative())
		m.note(&r.GradientMaxRelError, d.relative(), most.gradientOf(name), "gradient of %s in %s", name, at)
	}
}

// parts are the elements that the rank answers for.
func (s shard) parts() [][2]int64 {
	if s.slices == nil {
		return [][2]int64{{0, int64(len(s.data))}}
	}
	return s.slices
}

// compareChanges compares what a step made of weights and moments. After an exact step factors are compared as products.
func (c Case) compareChanges(got, want stride, exact bool, all *medians, at string, m *comparison) {
	r, most := m.report, m.most
	var together [step.SecondMoment + 1]distance
	for k, w := range want.after.held {
		name, g := w.Param.Name, got.after.held[k].data
		factor := strings.HasSuffix(name, ".A") || strings.HasSuffix(name, ".B")
		if c.zero(name) || len(g) == 0 {
			continue
		}
		var d distance
		d.add(g, w.data)
		switch {
		case w.Param.Grad.IsZero():
			m.note(&r.FinalMaxRelError, d.relative(), halfFrozenTolerance, "%s after %s", name, at)
			continue
		case w.Kind == step.Weight && exact && factor:
			continue
		case w.Kind == step.Weight:
			var moved distance
			moved.add(w.data, want.before.held[k].data)
			if d.of = moved.square; d.nothing() {
				continue
			}
			all.updates = append(all.updates, d.relative())
			m.note(&r.FinalMaxRelError, d.relative(), most.updateOf(name), "change of %s in %s", name, at)
		}
		together[w.Kind].join(d)
	}
	var working distance
	for name, w := range want.after.working {
		if !c.zero(name) {
			var d, moved distance
			d.add(got.after.working[name], w)
			moved.add(w, want.before.working[name])
			working.join(distance{d.square, moved.square})
		}
	}
	m.note(&r.FinalMaxRelError, together[step.Weight].relative(), most.update, "change of all weights in %s", at)
	if !exact { // the factors of which have another basis
		m.note(&r.FinalMaxRelError, working.relative(), most.update, "change of all rounded weights in %s", at)
	}
	m.note(&r.MomentMaxRelError, together[step.FirstMoment].relative(), most.moment, "first moments after %s", at)
	m.note(&r.MomentMaxRelError, together[step.SecondMoment].relative(), most.moment, "second moments after %s", at)
}

// compareProducts compares what an exact step made of pairs of factors.
func (c Case) compareProducts(ranks, leaders []outcome, i int, all *medians, m *comparison) {
	before := func(o outcome) map[string]shard { return o.strides[i].before.weights() }
	after := func(o outcome) map[string]shard { return o.strides[i].after.weights() }
	var names []string
	for _, o := range leaders {
		for name := range o.strides[i].grads {
			if linear, ok := strings.CutSuffix(name, ".A"); ok && !slices.Contains(names, linear) {
				names = append(names, linear)
			}
		}
	}
	for _, linear := range names {
		w, was, got := c.product(leaders, linear, after), c.product(leaders, linear, before), c.product(ranks, linear, after)
		var d, moved distance
		d.add64(got, w)
		moved.add64(w, was)
		d.of = moved.square
		all.updates = append(all.updates, d.relative())
		m.note(&m.report.FinalMaxRelError, d.relative(), m.most.tensorUpdate, "change of the product of %s in step %d", linear, i)
	}
}

// distance is the squares of a difference and of what it is relative to.
type distance struct{ square, of float64 }

func (d *distance) add(got, want []float32) {
	for i, g := range got {
		w := 0.0
		if want != nil {
			w = float64(want[i])
		}
		d.square += (float64(g) - w) * (float64(g) - w)
		d.of += w * w
	}
}

func (d *distance) add64(got, want []float64) {
	for i, w := range want {
		d.square += (got[i] - w) * (got[i] - w)
		d.of += w * w
	}
}

func (d *distance) join(e distance) { d.square, d.of = d.square+e.square, d.of+e.of }

// nothing reports whether there was nothing to miss, and nothing missed.
func (d distance) nothing() bool { return d.square == 0 && d.of == 0 }

// relative is the relative L2 error; of something that should be nothing infinity.
func (d distance) relative() float64 {
	if d.nothing() {
		return 0
	}
	return math.Sqrt(d.square / d.of)
}

func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[len(list)/2]
}
