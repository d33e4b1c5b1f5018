package chart

import "sort"

// Points are a line's samples with ascending X. An undrawable Y breaks the
// line there.
type Points struct{ X, Y []float64 }

// Range makes points whose X count up from first.
func Range(first float64, ys []float64) Points {
	xs := make([]float64, len(ys))
	for i := range xs {
		xs[i] = first + float64(i)
	}
	return Points{xs, ys}
}

// Len is the number of usable points.
func (p Points) Len() int { return min(len(p.X), len(p.Y)) }

// Window returns the points with low <= X <= high and one neighbour on either
// side, so that lines run up to the chart's edge. It copies nothing.
func (p Points) Window(low, high float64) Points {
	n := p.Len()
	from := sort.Search(n, func(i int) bool { return p.X[i] >= low })
	to := sort.Search(n, func(i int) bool { return p.X[i] > high })
	from, to = max(0, from-1), min(n, to+1)
	if from >= to {
		return Points{}
	}
	return Points{p.X[from:to], p.Y[from:to]}
}

// Nearest is the index of the point nearest to x, or -1 when there is none.
func (p Points) Nearest(x float64) int {
	n := p.Len()
	if n == 0 {
		return -1
	}
	i := sort.SearchFloat64s(p.X[:n], x)
	if i == n || (i > 0 && x-p.X[i-1] <= p.X[i]-x) {
		return i - 1
	}
	return i
}

// Bucket is what one column of dots has to show.
type Bucket struct {
	Min, Max, First, Last float64
	Used                  bool    // holds a drawable point
	Broken                bool    // holds an undrawable point
	BrokenAt              float64 // X of the first of them
	Start                 bool    // its first drawable point follows an undrawable one: do not join to the left
	End                   bool    // its last point is undrawable: do not join to the right
}

// Decimate sorts points into columns between low and high, keeping minimum and
// maximum of each: no peak is lost, whatever the number of points.
func Decimate(p Points, low, high float64, columns int, log bool) []Bucket {
	out := make([]Bucket, max(0, columns))
	if columns <= 0 || !(high >= low) {
		return out
	}
	scale := 0.0
	if high > low {
		scale = float64(columns-1) / (high - low)
	}
	broken := false
	for i, n := 0, p.Len(); i < n; i++ {
		x, y := p.X[i], p.Y[i]
		if !(x >= low && x <= high) {
			continue
		}
		b := &out[min(columns-1, int((x-low)*scale+0.5))]
		if !Finite(y) || (log && y <= 0) {
			if !b.Broken && !Finite(y) {
				b.Broken, b.BrokenAt = true, x
			}
			b.End, broken = true, true
			continue
		}
		y = Clean(y)
		if !b.Used {
			*b = Bucket{Min: y, Max: y, First: y, Last: y, Used: true, Broken: b.Broken, BrokenAt: b.BrokenAt, Start: broken}
		} else {
			b.Min, b.Max, b.Last, b.End = min(b.Min, y), max(b.Max, y), y, false
		}
		broken = false
	}
	return out
}

// Smooth is the exponential moving average of ys with the given weight of the
// past (0 <= weight < 1). Undrawable values stay and leave the average alone.
func Smooth(ys []float64, weight float64) []float64 {
	out := make([]float64, len(ys))
	mean, started := 0.0, false
	for i, y := range ys {
		switch {
		case !Finite(y):
			out[i] = y
			continue
		case !started:
			mean, started = Clean(y), true
		default:
			mean = weight*mean + (1-weight)*Clean(y)
		}
		out[i] = mean
	}
	return out
}
