package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"boost-tui/internal/wallclock"
	"boost-tui/profiler/record"
)

// TrashAge is how long what was deleted can be brought back, where nobody says otherwise.
const TrashAge = 14 * 24 * time.Hour

const (
	// coolAfter is how long after a run's end its checkpoints and temporary files are left alone: what restarts it may be at work.
	coolAfter = 10 * time.Minute
	// foreignAfter is the age from which a hidden folder is abandoned whose maker cannot be looked at from here.
	foreignAfter = 7 * 24 * time.Hour
)

// CollectOptions say what is to be freed.
type CollectOptions struct {
	Delete   bool          // free it; otherwise it is only found
	TrashAge time.Duration // of what was deleted; 0: all of it
	KeepLast int           // checkpoints of each run that is over; below zero: as many as the run was told to keep
}

// Kinds of what can be freed.
const (
	GarbageTrash      = "trash"      // a deleted run
	GarbageCheckpoint = "checkpoint" // one beyond those that a run keeps
	GarbageTemporary  = "temporary"  // what a program that was killed left behind
)

// Garbage is one thing that can be freed.
type Garbage struct {
	Kind  string
	Run   string // empty: of none
	Path  string // in the store
	Bytes int64
	Why   string
}

// Collect finds what can be freed in a store, and frees it when it is told to. It looks at what is this user's alone, leaves
// runs that go on and checkpoints that such runs start from as they are, and follows no links. What could not be
// looked at or freed is in the errors.
func (s *Store) Collect(ctx context.Context, o CollectOptions) ([]Garbage, []error) {
	root, err := os.OpenRoot(s.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []error{fmt.Errorf("collect: %w", err)}
	}
	defer root.Close()
	infos, errs := s.List(ctx)
	if infos == nil && len(errs) > 0 {
		return nil, errs
	}
	c := &collector{ctx: ctx, store: s, root: root, o: o, me: here(), now: wallclock.Now()} // a run that cannot be read is not looked at
	c.fsNow = fileNow(filepath.Join(s.Root, trashFolder), c.now)
	c.trash()
	c.hidden()
	used := startedFrom(infos)
	for i := range infos {
		if in := &infos[i]; ctx.Err() == nil && in.Mine() && in.Err == nil && in.State.Over() {
			c.run(in, used[in.ID])
		}
	}
	c.withdrawn()
	if err := ctx.Err(); err != nil {
		c.errs = append(c.errs, fmt.Errorf("collect: %w", err))
	}
	return c.found, c.errs
}

// startedFrom are the runs that others which are not over start from.
func startedFrom(infos []Info) map[string]bool {
	used := map[string]bool{}
	for _, in := range infos {
		if in.State.Over() {
			continue
		}
		paths := []string{in.Run.Experiment.Train.Resume, in.Run.Experiment.Train.InitFrom}
		if in.Run.Resumed != nil {
			paths = append(paths, in.Run.Resumed.Dir)
		}
		for _, p := range paths { // whatever the store is called there: an id is unique
			for _, part := range strings.Split(p, string(filepath.Separator)) {
				used[part] = true
			}
		}
	}
	return used
}

// collector goes through a store.
type collector struct {
	ctx   context.Context
	store *Store
	root  *os.Root
	o     CollectOptions
	me    Process
	now   time.Time
	fsNow time.Time // by the clock of the file system
	aside []withdrawal
	found []Garbage
	errs  []error
}

// take notes what can be freed, under a name in a folder that is held open, and frees it where that is asked for.
func (c *collector) take(in *os.Root, name string, g Garbage) {
	u, err := usageBelow(c.ctx, in, name)
	if err == nil || u.Bytes > 0 {
		g.Bytes = u.Bytes
	}
	if c.o.Delete {
		if err := in.RemoveAll(name); err != nil {
			c.errs = append(c.errs, fmt.Errorf("free %s: %w", g.Path, record.Explain(err)))
			return
		}
	}
	c.found = append(c.found, g)
}

// usageBelow is usageOf for a name that may be a file.
func usageBelow(ctx context.Context, root *os.Root, name string) (Usage, error) {
	st, err := root.Lstat(name)
	if err != nil || st.IsDir() {
		return usageOf(ctx, root, name)
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return Usage{Bytes: sys.Blocks * 512, Files: 1}, nil
	}
	return Usage{}, nil
}

// mine is what this user owns under a name; nil for anything else.
func mine(in *os.Root, name string) fs.FileInfo {
	st, err := in.Lstat(name)
	if err != nil || !owned(st) {
		return nil
	}
	return st
}

// names lists a folder; none where there is none. A link to a folder is none.
func (c *collector) names(in *os.Root, folder string) []string {
	st, err := in.Lstat(folder)
	if err == nil && !st.IsDir() || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var names []string
	f, err := in.Open(folder)
	if err == nil {
		names, err = f.Readdirnames(-1)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		c.errs = append(c.errs, fmt.Errorf("look into %s: %w", filepath.Join(in.Name(), folder), err))
	}
	slices.Sort(names)
	return names
}

// hidden finds folders and files beside the runs whose makers are gone.
func (c *collector) hidden() {
	for _, name := range c.names(c.root, ".") {
		isIndex := strings.HasPrefix(name, indexFile+".")
		if !isIndex && !strings.HasPrefix(name, newPrefix) && !strings.HasPrefix(name, scratchPrefix) {
			continue
		}
		if mine(c.root, name) == nil {
			continue
		}
		p, here := maker(name, c.me)
		switch {
		case here && p.look(c.me) == dead:
			c.take(c.root, name, Garbage{Kind: GarbageTemporary, Path: name, Why: "the program that made it is gone"})
		case isIndex:
			c.idle(c.root, name, indexFile+"."+newBatch(), coolAfter, Garbage{Kind: GarbageTemporary, Path: name, Why: "the program that made it is gone"})
		case !here:
			days := strconv.Itoa(int(foreignAfter.Hours() / 24))
			c.idle(c.root, name, newPrefix+c.mark()+"-"+newBatch(), foreignAfter, Garbage{Kind: GarbageTemporary, Path: name, Why: "nothing has changed in it for " + days + " days"})
		}
	}
}
