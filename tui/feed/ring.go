package feed

// Ring keeps the last so many values. The zero value keeps nothing; make one
// with NewRing.
type Ring[T any] struct {
	buf     []T
	start   int
	n       int
	dropped int
}

// NewRing makes a ring of at least one value.
func NewRing[T any](capacity int) *Ring[T] { return &Ring[T]{buf: make([]T, max(1, capacity))} }

// Push adds a value and drops the oldest when the ring is full.
func (r *Ring[T]) Push(v T) {
	if r.n < len(r.buf) {
		r.buf[(r.start+r.n)%len(r.buf)] = v
		r.n++
		return
	}
	r.buf[r.start] = v
	r.start = (r.start + 1) % len(r.buf)
	r.dropped++
}

// Len is the number of values held, Dropped the number that had to go.
func (r *Ring[T]) Len() int     { return r.n }
func (r *Ring[T]) Dropped() int { return r.dropped }

// At is the i-th value, 0 the oldest.
func (r *Ring[T]) At(i int) T { return r.buf[(r.start+i)%len(r.buf)] }

// Slice copies the values, oldest first.
func (r *Ring[T]) Slice() []T {
	out := make([]T, r.n)
	for i := range out {
		out[i] = r.At(i)
	}
	return out
}
