package compare

import (
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"boost-tui/internal/parallel"
	"boost-tui/profiler/record"
	"boost-tui/profiler/stats"
)

// Cache keeps runs that were read, and what comparing them took the longest for, as long as their files do not
// change: a second look at a thousand runs reads the one that went on. It may be used by several goroutines, one
// of which works at a time.
type Cache struct {
	turn   chan struct{} // taken by whoever works
	call   uint64        // counts Compare's calls
	reads  uint64        // counts what was read; the number of a reading tells it from others
	runs   map[string]*kept
	others map[string]*glimpse
	speeds map[[2]string]*keptSpeed // by the ids of two pools
	sides  map[sideOf]*keptSide
}

// sideOf is a pool as one side of speed-ups.
type sideOf struct {
	pool string // id
	side stats.Side
}

// keptSide is what was drawn for it, which is most of a speed-up's work.
type keptSide struct {
	medians *stats.Medians
	used    uint64
}

// keptSpeed is a speed-up of one pool over another.
type keptSpeed struct {
	speed stats.Interval
	used  uint64
}

// kept is a run in the cache.
type kept struct {
	dir   string
	key   string // of its files before they were read
	l     *loaded
	n     uint64 // number of the reading
	used  uint64 // the last call that wanted it
	read  time.Time
	took  time.Duration
	pairs map[string]*keptPair // by the directory of the base
}

// glimpse is a run beside those compared.
type glimpse struct {
	key  string
	used uint64
	run  Run
	at   span
	err  error
}

// NewCache is a cache without runs.
func NewCache() *Cache {
	return &Cache{turn: make(chan struct{}, 1), runs: map[string]*kept{}, others: map[string]*glimpse{},
		speeds: map[[2]string]*keptSpeed{}, sides: map[sideOf]*keptSide{}}
}

const (
	// forgetAfter is for how many calls a run is kept that nobody asks for: several tables take turns.
	forgetAfter = 16
	// maxSeries bounds the step times that are kept for all runs together: 8 bytes each.
	maxSeries = 16 << 20
	// maxSides bounds what was drawn: 16 kB each.
	maxSides = 4096
	// slowToRead is how long reading a run may take before it is put off, as it goes on, for patience times as long.
	slowToRead = 50 * time.Millisecond
	patience   = 10
)

func (c *Cache) enter(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		c.call++
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave forgets what nobody asked for lately, and lets the next one in.
func (c *Cache) leave() {
	maps.DeleteFunc(c.runs, func(_ string, k *kept) bool { return c.call-k.used > forgetAfter })
	for _, k := range c.runs {
		maps.DeleteFunc(k.pairs, func(_ string, p *keptPair) bool { return c.call-p.used > forgetAfter })
	}
	maps.DeleteFunc(c.others, func(_ string, g *glimpse) bool { return c.call-g.used > forgetAfter })
	maps.DeleteFunc(c.speeds, func(_ [2]string, s *keptSpeed) bool { return c.call-s.used > forgetAfter })
	maps.DeleteFunc(c.sides, func(_ sideOf, s *keptSide) bool { return c.call-s.used > forgetAfter || len(c.sides) > maxSides })
	c.shrink()
	<-c.turn
}

// shrink lets step times go, the longest first, where there are too many. What rests on them is kept.
func (c *Cache) shrink() {
	total, longest := 0, 0
	for _, k := range c.runs {
		total, longest = total+len(k.l.m.kept), max(longest, len(k.l.m.kept))
	}
	for limit := longest / 2; total > maxSeries && limit > 0; limit /= 2 {
		for _, k := range c.runs {
			if n := len(k.l.m.kept); n > limit && total > maxSeries {
				k.l.m.kept, total = nil, total-n
			}
		}
	}
}

// load brings the runs of some directories up to date. Their errors stand at their places.
func (c *Cache) load(ctx context.Context, dirs []string) ([]*kept, []error) {
	found, errs := make([]*kept, len(dirs)), make([]error, len(dirs))
	first := c.reads
	c.reads += uint64(len(dirs))
	_ = parallel.Each(ctx, len(dirs), func(i int) { // whoever loads asks the context
		found[i], errs[i] = c.runs[dirs[i]].refresh(ctx, dirs[i], first+uint64(i)+1)
	})
	for i, k := range found {
		if errs[i] != nil && ctx.Err() == nil {
			delete(c.runs, dirs[i])
		}
		if k != nil {
			k.used = c.call
			c.runs[dirs[i]] = k
		}
	}
	return found, errs
}

// refresh is the run as its files are now; n numbers the reading. k is nil for a run that was not read before.
func (k *kept) refresh(ctx context.Context, dir string, n uint64) (*kept, error) {
	key, over := filesOf(dir)
	if k != nil && (k.key == key || !over && k.took > slowToRead && time.Since(k.read) < patience*k.took) {
		return k, nil
	}
	began := time.Now()
	l, err := load(ctx, dir)
	if err != nil {
		return nil, err
	}
	l.m.keptSteps = nil
	fresh := &kept{dir: dir, key: key, l: l, n: n, read: time.Now(), took: time.Since(began), pairs: map[string]*keptPair{}}
	if k != nil {
		fresh.pairs = k.pairs // they know which readings they rest on
	}
	return fresh, nil
}

// series makes sure that the step times are there.
func (k *kept) series(ctx context.Context) error {
	if k.l.m.kept != nil || k.l.summary.Kept == 0 {
		return nil
	}
	m, err := measure(ctx, k.dir)
	if err != nil {
		return fmt.Errorf("run %s: %w", k.l.run.ID, err)
	}
	k.l.m.kept = m.kept
	return nil
}

// look is lookAt that remembers.
func (c *Cache) look(ctx context.Context, dir string) (Run, span, error) {
	key, _ := filesOf(dir)
	g := c.others[dir]
	if g == nil || g.key != key {
		g = &glimpse{key: key}
		if g.run, g.at, g.err = lookAt(ctx, dir); ctx.Err() != nil {
			return Run{}, span{}, ctx.Err()
		}
		c.others[dir] = g
	}
	g.used = c.call
	return g.run, g.at, g.err
}

// filesOf tells versions of the files apart that a run's figures rest on, and says whether the run is over. Of one
// that is, nobody appends to its files, so the folders that hold them suffice.
func filesOf(dir string) (key string, over bool) {
	var b []byte
	see := func(path string) bool {
		info, err := os.Stat(path)
		if err == nil {
			b = appendFile(b, info)
		} else {
			b = append(b, '-')
		}
		return err == nil
	}
	steps, health := filepath.Dir(record.StepsPath(dir, 0)), filepath.Dir(record.HealthPath(dir, ""))
	for _, path := range []string{filepath.Join(dir, "run.json"), record.RollupPath(dir), steps, health} {
		see(path)
	}
	if see(filepath.Join(dir, "result.json")) {
		return string(b), true
	}
	for _, folder := range []string{steps, health} {
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue // it is not there yet; what else it may be, reading says
		}
		for _, e := range entries {
			if info, err := e.Info(); err == nil {
				b = appendFile(append(b, e.Name()...), info)
			}
		}
	}
	return string(b), false
}

func appendFile(b []byte, info fs.FileInfo) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(info.ModTime().UnixNano()))
	b = binary.LittleEndian.AppendUint64(b, uint64(info.Size()))
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		b = binary.LittleEndian.AppendUint64(b, st.Ino)
	}
	return b
}
