// Package interval measures sets of time spans: unions, intersections, clipping. Times are
// integers (nanoseconds as a rule), so that the parts of a step sum to it exactly (PROFILING.md §5).
package interval

import "slices"

// Interval is [Lo, Hi).
type Interval struct{ Lo, Hi int64 }

// Clip is the part of i within w; ok is false when there is none.
func (i Interval) Clip(w Interval) (part Interval, ok bool) {
	part = Interval{max(i.Lo, w.Lo), min(i.Hi, w.Hi)}
	return part, part.Lo < part.Hi
}

// Union sorts and merges the intervals in place and returns the disjoint ones, in order. Empty
// ones vanish.
func Union(list []Interval) []Interval {
	sorted := true
	for i := 1; i < len(list) && sorted; i++ {
		sorted = list[i-1].Lo <= list[i].Lo
	}
	if !sorted {
		slices.SortFunc(list, byStart)
	}
	out := list[:0]
	for _, v := range list {
		if v.Lo >= v.Hi {
			continue
		}
		if n := len(out); n > 0 && v.Lo <= out[n-1].Hi {
			out[n-1].Hi = max(out[n-1].Hi, v.Hi)
			continue
		}
		out = append(out, v)
	}
	return out
}

func byStart(a, b Interval) int {
	switch {
	case a.Lo < b.Lo:
		return -1
	case a.Lo > b.Lo:
		return 1
	}
	return 0
}

// Length is the total of disjoint intervals.
func Length(union []Interval) int64 {
	var n int64
	for _, v := range union {
		n += v.Hi - v.Lo
	}
	return n
}

// Overlap is the length of what two unions share.
func Overlap(a, b []Interval) int64 {
	var n int64
	for i, j := 0, 0; i < len(a) && j < len(b); {
		if c, ok := a[i].Clip(b[j]); ok {
			n += c.Hi - c.Lo
		}
		if a[i].Hi < b[j].Hi {
			i++
		} else {
			j++
		}
	}
	return n
}
