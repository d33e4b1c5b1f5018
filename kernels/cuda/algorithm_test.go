package cuda

import (
	"errors"
	"testing"

	"boost-tui/kernels"
)

// A measurement may choose among a product's algorithms. What there is not is an error, and the usual one stays.
func TestAlgorithms(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the emulated device")
	}
	l, err := Emulator(t.Context(), t.Logf)
	if errors.Is(err, ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err := l.Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	memory, err := d.Alloc("operands", 3*64*64*4, false)
	if err != nil {
		t.Fatal(err)
	}
	at := func(i int, dt kernels.DType) kernels.View {
		return kernels.Matrix(memory, int64(i)*64*64*4, 64, 64, dt)
	}
	g := &kernels.Gemm{Alpha: 1, A: at(0, kernels.BF16), B: at(1, kernels.BF16), D: at(2, kernels.BF16)}
	n, err := d.Algorithm(g, 0)
	if err != nil || n < 1 {
		t.Fatalf("%d algorithms, %v", n, err)
	}
	if _, err := d.Algorithm(g, n); !errors.Is(err, kernels.ErrInvalid) {
		t.Errorf("one beyond: %v", err)
	}
	if err := d.Do(kernels.Call{}, g); err != nil {
		t.Error(err)
	}
	empty := *g
	empty.A.Cols, empty.B.Rows = 0, 0
	if _, err := d.Algorithm(&empty, 0); err == nil {
		t.Error("a product without a sum has algorithms")
	}
	if err := d.Sync(t.Context(), kernels.ComputeStream); err != nil {
		t.Error(err)
	}
}
