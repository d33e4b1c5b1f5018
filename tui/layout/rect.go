// Package layout cuts the screen into rectangles and text into rectangles'
// shape. Everything is pure. Sizes are cells; nothing here panics on a
// negative or zero size.
package layout

// Rect is a part of the screen in cells.
type Rect struct{ X, Y, W, H int }

// Empty reports whether nothing can be drawn in r.
func (r Rect) Empty() bool { return r.W <= 0 || r.H <= 0 }

// Top cuts n rows off the top and returns both parts.
func (r Rect) Top(n int) (top, rest Rect) {
	n = Clamp(n, 0, r.H)
	return Rect{r.X, r.Y, r.W, n}, Rect{r.X, r.Y + n, r.W, r.H - n}
}

// Bottom cuts n rows off the bottom; rest comes first.
func (r Rect) Bottom(n int) (rest, bottom Rect) {
	n = Clamp(n, 0, r.H)
	return Rect{r.X, r.Y, r.W, r.H - n}, Rect{r.X, r.Y + r.H - n, r.W, n}
}

// Left cuts n columns off the left side.
func (r Rect) Left(n int) (left, rest Rect) {
	n = Clamp(n, 0, r.W)
	return Rect{r.X, r.Y, n, r.H}, Rect{r.X + n, r.Y, r.W - n, r.H}
}

// Inset shrinks r by dx columns on both sides and dy rows above and below.
func (r Rect) Inset(dx, dy int) Rect {
	return Rect{r.X + dx, r.Y + dy, max(0, r.W-2*dx), max(0, r.H-2*dy)}
}

// Clamp limits v to [low, high]; low wins when they cross.
func Clamp(v, low, high int) int { return max(low, min(v, high)) }
