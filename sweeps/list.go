package sweeps

import (
	"boost-tui/internal/parallel"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Info is what a list says of a sweep. One that cannot be read still has one, with Err set.
type Info struct {
	ID, Dir     string
	Name        string
	Created     time.Time
	Updated     time.Time
	Phase       Phase
	Cause       string
	Held        bool
	Points      int            // of all plans
	Counts      map[Status]int // of points; not to be changed
	Pruned      int
	Keys        []string // space.Spec.Key of every plan
	DeviceHours float64
	Worked      time.Duration
	BadLines    int
	Err         error
}

// List describes all sweeps, oldest first. What cannot be read is in the Info's Err and, for callers that only count,
// in the errors; the list goes on behind it. A sweep whose journal did not change since the last call is not read again.
func (f *Folder) List(ctx context.Context) ([]Info, []error) {
	ids, err := f.ids()
	if err != nil {
		return nil, []error{err}
	}
	infos := make([]Info, len(ids))
	if err := parallel.Each(ctx, len(ids), func(i int) { infos[i] = f.info(ctx, ids[i]) }); err != nil {
		return nil, []error{fmt.Errorf("list the sweeps of %s: %w", f.Root, err)}
	}
	f.cache.keep(ids)
	var errs []error
	kept := infos[:0]
	for _, in := range infos {
		if errors.Is(in.Err, fs.ErrNotExist) && !errors.Is(in.Err, errPlan) { // not a sweep, or just deleted
			continue
		}
		if in.Err != nil {
			errs = append(errs, in.Err)
		}
		kept = append(kept, in)
	}
	return kept, errs
}

// info describes one sweep.
func (f *Folder) info(ctx context.Context, id string) Info {
	s := f.sweep(id)
	now := time.Now()
	e, err := f.cache.get(ctx, s)
	if err != nil {
		return Info{ID: id, Dir: s.Dir, Err: fmt.Errorf("sweep %s: %w", id, err)}
	}
	var st State
	e.standing.presence(&st, look(s.Dir, now), now)
	in := e.info
	in.Phase, in.Cause, in.Held, in.Worked = st.Phase, st.Cause, st.Held, st.Worked
	return in
}

// cache keeps what lists say of sweeps as long as their journals do not change.
type cache struct {
	mu     sync.Mutex
	sweeps map[string]cached
}

type cached struct {
	seen     fs.FileInfo // the journal
	info     Info
	standing standing
}

func (c *cache) get(ctx context.Context, s *Sweep) (cached, error) {
	st, err := os.Lstat(filepath.Join(s.Dir, JournalFile))
	if err != nil {
		return cached{}, err
	}
	c.mu.Lock()
	e, ok := c.sweeps[s.ID]
	c.mu.Unlock()
	if ok && os.SameFile(st, e.seen) && st.Size() == e.seen.Size() && st.ModTime().Equal(e.seen.ModTime()) {
		return e, nil
	}
	var t tail
	if _, err := t.read(ctx, s.Dir); err != nil {
		return cached{}, err
	}
	e = cached{seen: t.seen, info: t.replay.info(s), standing: t.replay.standing}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sweeps == nil {
		c.sweeps = map[string]cached{}
	}
	c.sweeps[s.ID] = e
	return e, nil
}

// keep forgets sweeps that are gone.
func (c *cache) keep(ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	there := make(map[string]bool, len(ids))
	for _, id := range ids {
		there[id] = true
	}
	for id := range c.sweeps {
		if !there[id] {
			delete(c.sweeps, id)
		}
	}
}

// info is what a list says, but for what depends on the time.
func (r *replay) info(s *Sweep) Info {
	counts := map[Status]int{}
	for _, p := range r.points {
		counts[p.Status]++
	}
	return Info{
		ID: s.ID, Dir: s.Dir, Name: r.name, Created: r.created, Updated: r.updated, Points: len(r.points), Counts: counts,
		Pruned: len(r.pruned), Keys: r.keys, DeviceHours: r.deviceHours, BadLines: r.badLines,
	}
}
