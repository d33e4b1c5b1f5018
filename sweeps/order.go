package sweeps

import (
	"cmp"
	"hash/fnv"
	"slices"
)

// queue keeps the order of all points until something changes it: the options, a plan, somebody who moves points.
type queue struct {
	order []int // of all points, by index
	stale bool
}

// queued lists the points that wait, the next first.
func (r *replay) queued() []*PointState {
	if r.queue.stale {
		r.queue.order, r.queue.stale = r.sorted(), false
	}
	var list []*PointState
	for _, i := range r.queue.order {
		if p := r.points[i]; p.Status == Queued {
			list = append(list, p)
		}
	}
	return list
}

// sorted puts what somebody moved to the front there, whatever order was chosen since, and the rest in that order.
func (r *replay) sorted() []int {
	moved := make(map[int]bool, len(r.moved))
	for _, i := range r.moved {
		moved[i] = true
	}
	rest := make([]int, 0, len(r.points))
	for i := range r.points {
		if !moved[i] {
			rest = append(rest, i)
		}
	}
	switch r.options.Order {
	case OrderCheapest:
		slices.SortStableFunc(rest, func(a, b int) int { return byCost(r.points[a].FLOPs, r.points[b].FLOPs) })
	case OrderRandom:
		r.shuffle(rest)
	default: // a plan has its twins first; those of a later plan need not wait for the points of the earlier ones
		slices.SortStableFunc(rest, func(a, b int) int { return rank(r.points[a].Twin) - rank(r.points[b].Twin) })
	}
	return append(slices.Clone(r.moved), rest...)
}

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}

// byCost orders FLOPs; what is unknown (0) may be anything and comes last.
func byCost(a, b float64) int {
	if (a == 0) != (b == 0) {
		return rank(b == 0) - rank(a == 0)
	}
	return cmp.Compare(a, b)
}

// shuffle orders by a hash of the seed and the point, so that points which are added later leave the others where they are.
func (r *replay) shuffle(points []int) {
	key := make(map[int]uint64, len(points))
	for _, i := range points {
		h := fnv.New64a()
		var seed [8]byte
		for b := range seed {
			seed[b] = byte(r.options.Seed >> (8 * b))
		}
		h.Write(seed[:]) // a hash never fails
		h.Write([]byte(r.points[i].ID))
		key[i] = mix(h.Sum64())
	}
	slices.SortStableFunc(points, func(a, b int) int { return cmp.Compare(key[a], key[b]) })
}

// mix spreads a hash over all its bits (the finaliser of splitmix64): FNV's high bits tell similar texts apart badly.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
