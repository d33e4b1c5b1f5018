// Package parallel spreads work over the processors: the one loop that lists of runs and comparisons have in common.
package parallel

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// Each calls f for 0 … n-1 on as many processors as there are, until the context ends, and waits for all calls. What
// was left out when the context ended, its error says.
func Each(ctx context.Context, n int, f func(int)) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && ctx.Err() == nil; i = next.Add(1) - 1 {
				f(int(i))
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}
