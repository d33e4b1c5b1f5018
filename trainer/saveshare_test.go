package trainer

import (
	"slices"
	"testing"

	"boost-tui/kernels"
)

// Neighbours on the device and in the file travel in one copy; a gap on either side, another buffer and an empty tensor end it.
func TestSpans(t *testing.T) {
	one, other := &kernels.Buffer{Ptr: 1 << 20, Bytes: 1 << 10}, &kernels.Buffer{Ptr: 1 << 20, Bytes: 1 << 10}
	row := func(b *kernels.Buffer, offset int64, n int) piece {
		return piece{view: kernels.Matrix(b, offset, 1, n, kernels.F32)}
	}
	share := []piece{
		row(one, 0, 4), row(one, 16, 2), // neighbours
		{ints: []int64{1}},  // the host's
		row(one, 24, 1),     // not in the file
		row(one, 32, 3),     // nor on the device
		row(one, 44, 0),     // empty
		row(other, 44, 1),   // elsewhere
		row(other, 48, 250), // a neighbour again
	}
	at := []int64{100, 116, 124, 132, 136, 148, 148, 152}
	got := spansOf(share, func(i int) int64 { return at[i] })
	want := []span{
		{kernels.Matrix(one, 0, 1, 6, kernels.F32), 100},
		{kernels.Matrix(one, 24, 1, 1, kernels.F32), 132},
		{kernels.Matrix(one, 32, 1, 3, kernels.F32), 136},
		{kernels.Matrix(other, 44, 1, 251, kernels.F32), 148},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}
