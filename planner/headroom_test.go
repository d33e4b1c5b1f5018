package planner

import (
	"testing"

	"boost-tui/experiment"
)

func TestLargestMicroBatch(t *testing.T) {
	e, err := experiment.Default().Resolve()
	if err != nil {
		t.Fatal(err)
	}
	for _, mem := range []int64{200 << 20, 1 << 30} {
		m := Machine{MemBytes: mem}
		n := LargestMicroBatch(e, m)
		for _, c := range []struct {
			micro int
			fits  bool
		}{{n, true}, {n + 1, false}} {
			try := e
			try.Step.MicroBatch = c.micro
			if p, err := New(try, m); err != nil || p.Fits != c.fits {
				t.Errorf("%d bytes: the largest is %d, but %d fits: %v, %v", mem, n, c.micro, p != nil && p.Fits, err)
			}
		}
	}
	if n := LargestMicroBatch(e, Machine{MemBytes: 1 << 20}); n != 0 {
		t.Errorf("%d fits into a MiB", n)
	}
	if n := LargestMicroBatch(e, Machine{}); n != 0 {
		t.Errorf("unknown memory gives %d", n)
	}
}
