package step

import (
	"slices"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/model"
)

// Data parallelism (METHOD.md §4): gradients are reduced over the replicas in buckets, on a stream of their own, while the
// backward that makes the others runs. The loss is scaled for the mean, so that the sum is it. With ZeRO-1 each
// rank gets its slice of the sum, steps that, and gathers the weights.

// A bucket is reduced when it has a share of all gradients, so that little is left for after the backward; within bounds:
// large enough for the time of a call not to matter, and no larger than keeps a fast link busy.
const (
	buckets     = 32
	leastBucket = 256 << 10 // bytes
	mostBucket  = 25 << 20
)

// ChunkReplicas is the chunk of the backward in which gradients are reduced over replicas: once in a step, with its last
// micro-batch.
const ChunkReplicas = "replicas"

// bucket is a group call's worth of gradients.
type bucket struct {
	done   int // what Backward must have called done with
	reduce []kernels.Part
	under  kernels.Pending
}

// stretch is a part of the arenas that the optimizer treats alike, and that is this rank's.
type stretch struct {
	lo, hi     int  // elements
	at         int  // where its moments begin
	rank       int  // of the factors that lie there, where a rule of the optimizer tells them apart
	replicated bool // every tensor-parallel rank holds it alike
}

// of is the stretch of a flat view of an arena.
func (r stretch) of(v kernels.View) kernels.View { return v.ColRange(r.lo, r.hi) }

// moments is the stretch of a flat view of moments.
func (r stretch) moments(v kernels.View) kernels.View {
	return v.ColRange(r.at, r.at+r.hi-r.lo)
}

// update is a step of the optimizer on some stretches, and what is gathered from all replicas then.
type update struct {
	stretches []stretch
	regions   []stretch // as the whole that the stretches are slices of; none: nothing is gathered
}

// plan cuts the arenas into stretches and buckets.
func (s *Step) plan() {
	if size(s.groups.DP) > 1 {
		s.planBuckets()
	}
	if s.slices() > 1 {
		return // with the buckets
	}
	var one update
	for _, r := range s.model.Regions() {
		next := stretch{r.Lo, r.Hi, r.Lo, s.told(r.Rank), false}
		if n := len(one.stretches); n > 0 && one.stretches[n-1].rank == next.rank {
			one.stretches[n-1].hi = next.hi
			continue
		}
		one.stretches = append(one.stretches, next)
	}
	s.updates = []update{one}
}

// planBuckets joins regions, those first whose gradients are complete first, to buckets; with ZeRO each has an update.
func (s *Step) planBuckets() {
	regions := slices.Clone(s.model.Regions())
	slices.SortStableFunc(regions, func(a, b model.Region) int { return b.Done - a.Done })
	var b bucket
	var u update
	bytes, enough := int64(0), min(max(s.model.Gradients().Bytes()/buckets, leastBucket), mostBucket)
	flush := func() {
		if len(b.reduce) > 0 {
			s.buckets = append(s.buckets, b)
		}
		if len(u.stretches) > 0 {
			s.updates = append(s.updates, u)
		}
		b, u, bytes = bucket{}, update{}, 0
	}
	for _, r := range regions {
		whole := stretch{r.Lo, r.Hi, 0, s.told(r.Rank), r.Replicated}
		part := kernels.Part{Kind: kernels.AllReduce, Send: whole.of(s.model.Gradients())}
		if s.slices() > 1 {
			own := s.slice(whole)
			part.Kind, part.Recv = kernels.ReduceScatter, own.of(s.model.Gradients())
			u.stretches, u.regions = append(u.stretches, own), append(u.regions, whole)
		}
		b.reduce, b.done = append(b.reduce, part), r.Done
		if bytes += part.Send.Bytes(); bytes >= enough || len(b.reduce) == kernels.MaxViews {
			flush()
		}
	}
	flush()
}

// slice is this rank's part of a region.
func (s *Step) slice(r stretch) stretch {
	n := (r.hi - r.lo) / s.slices()
	lo := r.lo + place(s.groups.DP)*n
	return stretch{lo, lo + n, r.lo / s.slices(), r.rank, r.replicated}
}

// told is the rank of factors that the optimizer must tell apart.
func (s *Step) told(rank int) int {
	if v := s.cfg.Model.Variant; v == experiment.LORO || v == experiment.ReLoRA {
		return rank
	}
	return 0
}

// reduceUpTo starts the buckets that are complete when Backward says so.
func (s *Step) reduceUpTo(done int) {
	for ; s.started < len(s.buckets) && s.buckets[s.started].done >= done; s.started++ {
		b, label := &s.buckets[s.started], s.x.Label
		s.x.At(-1, ChunkReplicas)
		b.under = s.x.Start("gradients", s.groups.DP, b.reduce...)
		s.x.Label = label
	}
}

// measure makes the gradient's global norm and the mean loss. Every element is counted once: of slices first, then over
// the tensor-parallel ranks what they do not hold alike, then over the replicas that hold slices, then over the stages.
func (s *Step) measure() {
	for i := range s.buckets {
		s.buckets[i].under.Wait()
	}
	own, alike := s.squares()
	s.x.Do("norm.zero", &kernels.Fill{X: s.sumsq})
	for _, v := range own {
		s.x.Do("norm.own", &kernels.SumSq{X: v, Out: s.sumsq})
	}
	s.x.Reduce("norm", s.groups.TP, s.sumsq)
	for _, v := range alike {
		s.x.Do("norm.replicated", &kernels.SumSq{X: v, Out: s.sumsq})
	}
	replicas := []kernels.View{s.model.Loss()}
	if s.slices() > 1 {
		replicas = append(replicas, s.sumsq)
	}
	s.x.Reduce("replicas", s.groups.DP, replicas...)
	s.x.Reduce("stages", s.groups.PP, s.model.Loss(), s.sumsq)
	s.x.Do("clip", &kernels.ClipScale{SumSq: s.sumsq, Norm: s.norm, Scale: s.scale, MaxNorm: float32(s.cfg.Clip)})
}

// squares lists the gradients to measure: those that only this tensor-parallel rank holds, and those that all hold alike.
func (s *Step) squares() (own, alike []kernels.View) {
	if s.slices() == 1 {
		own = append(own, s.model.OwnGradients())
		if r := s.model.ReplicatedGradients(); !r.IsZero() {
			alike = append(alike, r)
		}
		return own, alike
	}
	for _, u := range s.updates {
		for _, r := range u.stretches {
			if r.replicated && size(s.groups.TP) > 1 {
				alike = append(alike, r.of(s.model.Gradients()))
			} else {
				own = append(own, r.of(s.model.Gradients()))
			}
		}
	}
	return own, alike
}

// share starts to gather what the slices of an update have become: weights, or of factors in an exact step of loro
// their directions, which lie where the gradients were.
func (s *Step) share(u update, directions bool) kernels.Pending {
	var parts, masters []kernels.Part
	for _, whole := range u.regions {
		own, from := s.slice(whole), s.model.Weights()
		if directions && whole.rank > 0 {
			from = s.model.Gradients()
			if s.Mixed() { // what the step is from, too
				masters = append(masters, kernels.Part{Kind: kernels.AllGather, Send: own.of(s.master), Recv: whole.of(s.master)})
			}
		}
		parts = append(parts, kernels.Part{Kind: kernels.AllGather, Send: own.of(from), Recv: whole.of(from)})
	}
	if len(parts) == 0 {
		return kernels.Pending{}
	}
	if len(masters) > 0 {
		s.x.Start("masters", s.groups.DP, masters...).Wait()
	}
	return s.x.Start("weights", s.groups.DP, parts...)
}
