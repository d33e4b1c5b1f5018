package results

import (
	"sync"
	"time"

	"boost-tui/experiment"
	"boost-tui/profiler/compare"
)

// Cache keeps what does not change between two looks at a sweep: runs whose files are as they were, comparisons of
// those, points spelled out. One Cache may serve several sweeps and goroutines.
type Cache struct {
	runs *compare.Cache

	mu      sync.Mutex
	points  map[string]spelled // by the ids of sweep and point; that of a point is made of its experiment
	history History
	asked   time.Time // when history was read
}

// spelled is a point's resolved experiment.
type spelled struct {
	experiment.Experiment
	configuration string
}

// configurationOf is everything that an experiment says but for its seed, name and tags: that of its repeats.
func configurationOf(e experiment.Experiment) string {
	e.Name, e.Tags, e.Train.Seed = "", nil, 0
	return string(e.TOML())
}

// NewCache is an empty cache.
func NewCache() *Cache {
	return &Cache{runs: compare.NewCache(), points: map[string]spelled{}}
}

// maxPoints bounds the points that are kept spelled out; when there are more, all are forgotten.
const maxPoints = 50000

// point spells a point out, unless it is known.
func (c *Cache) point(id string, spell func() (experiment.Experiment, error)) (spelled, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.points[id]; ok {
		return p, nil
	}
	e, err := spell()
	p := spelled{e, configurationOf(e)}
	if err != nil {
		return p, err
	}
	if len(c.points) >= maxPoints {
		clear(c.points)
	}
	c.points[id] = p
	return p, nil
}
