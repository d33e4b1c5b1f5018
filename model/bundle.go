package model

import "boost-tui/kernels"

// bundle is n matrices of equal shape, [T, c] each, in one contiguous piece of memory: side by side as one
// [T, n·c] matrix, so that one product makes or takes them all, or one after the other.
type bundle struct {
	all   kernels.View
	n     int
	side  bool
	first int // the number of the first matrix that is there, in a bundle of more
}

func (b bundle) part(i int) kernels.View { return b.span(unit{lo: i, hi: i + 1}) }

// span is the unit's matrices as one view.
func (b bundle) span(u unit) kernels.View {
	u.lo, u.hi = u.lo-b.first, u.hi-b.first
	if b.side {
		c := b.all.Cols / b.n
		return b.all.ColRange(u.lo*c, u.hi*c)
	}
	t := b.all.Rows / b.n
	return b.all.RowRange(u.lo*t, u.hi*t)
}

// stride is the distance between the matrices in elements.
func (b bundle) stride() int64 {
	if b.side {
		return int64(b.all.Cols / b.n)
	}
	return int64(b.all.Rows/b.n) * int64(b.all.LD)
}

// over is a bundle of the same shape in other memory.
func (b bundle) over(memory kernels.View) bundle {
	b.all = kernels.Matrix(memory.Buf, memory.Offset, b.all.Rows, b.all.Cols, b.all.DType)
	return b
}

func single(v kernels.View) bundle { return bundle{all: v, n: 1} }

// unit is the linears [lo, hi) of a group that share one product and one collective: all of them when
// grouped, else one each.
type unit struct {
	name   string
	lo, hi int
}

func (u unit) count() int { return u.hi - u.lo }

// arena collects the matrices of one allocation; commit fills the views in.
type arena struct {
	layout kernels.Layout
	fill   []func()
	dt     kernels.DType // of what has no type of its own
}

func (a *arena) matrix(dst *kernels.View, rows, cols int) { a.typed(dst, rows, cols, a.dt) }

// fp32 is a matrix of what stays F32 whatever the decoder works with.
func (a *arena) fp32(dst *kernels.View, rows, cols int) { a.typed(dst, rows, cols, kernels.F32) }

// elements is how many of the arena's type there are so far.
func (a *arena) elements() int { return int(a.layout.Bytes() / a.dt.Bytes()) }

// align moves the end to a multiple of n elements, which fill cache lines.
func (a *arena) align(n int) { a.layout.Align(int64(n) * a.dt.Bytes()) }

func (a *arena) typed(dst *kernels.View, rows, cols int, dt kernels.DType) {
	v := a.layout.Add(rows, cols, dt)
	a.fill = append(a.fill, func() { *dst = *v })
}

func (a *arena) bundle(dst *bundle, n, rows, cols int, side bool) {
	dst.n, dst.side = n, side
	if side {
		a.matrix(&dst.all, rows, n*cols)
		return
	}
	a.matrix(&dst.all, n*rows, cols)
}

// commit allocates. The whole arena is one row of elements of its type; the gaps between matrices stay zero.
func (a *arena) commit(dev kernels.Device, name string, symmetric bool) (kernels.View, error) {
	if len(a.fill) == 0 {
		return kernels.View{}, nil
	}
	buf, err := a.layout.Commit(dev, name, symmetric)
	if err != nil {
		return kernels.View{}, err
	}
	for _, f := range a.fill {
		f()
	}
	return kernels.Matrix(buf, 0, 1, int(buf.Bytes/a.dt.Bytes()), a.dt), nil
}
