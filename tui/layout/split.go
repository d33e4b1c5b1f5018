package layout

// Part asks for a share of a length: at least Min cells, then Weight shares of
// what is left over. A Part of Weight 0 gets exactly Min.
type Part struct{ Min, Weight int }

// Divide splits total into the parts. Where the minima do not fit, later parts
// are cut first, down to 0: callers drop panes of length 0. The results always
// sum to total when any part has a weight.
func Divide(total int, parts ...Part) []int {
	out := make([]int, len(parts))
	left, weights := max(0, total), 0
	for i, p := range parts {
		out[i] = Clamp(p.Min, 0, left)
		left -= out[i]
		weights += p.Weight
	}
	last := -1
	for i, p := range parts {
		if p.Weight > 0 && weights > 0 {
			share := left * p.Weight / weights
			out[i] += share
			left, weights = left-share, weights-p.Weight
			last = i
		}
	}
	if last >= 0 {
		out[last] += left
	}
	return out
}

// Columns cuts r into side by side rectangles.
func (r Rect) Columns(parts ...Part) []Rect {
	out := make([]Rect, len(parts))
	x := r.X
	for i, w := range Divide(r.W, parts...) {
		out[i] = Rect{x, r.Y, w, r.H}
		x += w
	}
	return out
}

// Rows cuts r into stacked rectangles.
func (r Rect) Rows(parts ...Part) []Rect {
	out := make([]Rect, len(parts))
	y := r.Y
	for i, h := range Divide(r.H, parts...) {
		out[i] = Rect{r.X, y, r.W, h}
		y += h
	}
	return out
}
