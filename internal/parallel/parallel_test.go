package parallel

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

func TestEach(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		done := make([]int, n)
		if err := Each(t.Context(), n, func(i int) { done[i]++ }); err != nil {
			t.Fatal(err)
		}
		for i, k := range done {
			if k != 1 {
				t.Errorf("%d of %d was done %d times", i, n, k)
			}
		}
	}
}

func TestEachEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var calls atomic.Int64
	err := Each(ctx, 1<<40, func(int) {
		if calls.Add(1) == 100 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || calls.Load() < 100 {
		t.Errorf("%d calls, %v", calls.Load(), err)
	}
}
