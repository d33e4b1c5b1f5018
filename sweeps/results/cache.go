package results

import (
	"context"
	"sync"
	"time"

	"boost-tui/profiler/compare"
	"boost-tui/runner"
)

// Cache keeps what does not change between two looks at a sweep: runs whose files are as they were, comparisons of
// those, the store's history. One Cache may serve several sweeps and goroutines.
type Cache struct {
	runs *compare.Cache

	mu      sync.Mutex
	history History
	asked   time.Time // when history was read
}

// NewCache is an empty cache.
func NewCache() *Cache { return &Cache{runs: compare.NewCache()} }

// past is the store's history, read at most once a minute.
func (c *Cache) past(ctx context.Context, runs *runner.Store) History {
	const fresh = time.Minute
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked.IsZero() || time.Since(c.asked) > fresh {
		c.history, c.asked = ReadHistory(ctx, runs), time.Now()
	}
	return c.history
}
