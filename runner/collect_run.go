package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// run finds what a run that is over does not need.
func (c *collector) run(in *Info, used bool) {
	if !in.Ended.IsZero() && c.fsNow.Sub(in.Ended) < coolAfter {
		return
	}
	dir, err := openRun(c.root, in.ID)
	if err != nil {
		c.errs = append(c.errs, fmt.Errorf("look into run %s: %w", in.ID, err))
		return
	}
	defer dir.Close()
	if in.Ended.IsZero() && c.fsNow.Sub(newest(dir, ".")) < coolAfter { // lost from here, and perhaps at work where it is
		return
	}
	for _, folder := range []string{".", filepath.Base(protocol.ExitDir("")), protocol.CheckpointDir} {
		for _, name := range c.names(dir, folder) {
			left := folder == protocol.CheckpointDir && strings.HasPrefix(name, protocol.CheckpointAside) ||
				folder != protocol.CheckpointDir && aside(name) || folder == "." && name == protocol.ReserveFile
			if !left {
				continue
			}
			path := filepath.Join(folder, name)
			if mine(dir, path) != nil {
				private := "." + name + "." + newBatch()[:asideRandom]
				if folder == protocol.CheckpointDir {
					private = protocol.CheckpointAside + newBatch() + ".old"
				}
				c.idle(dir, path, filepath.Join(folder, private), coolAfter,
					Garbage{Kind: GarbageTemporary, Run: in.ID, Path: filepath.Join(in.ID, path), Why: "left by a program that was killed"})
			}
		}
	}
	if !used {
		c.checkpoints(in, dir)
	}
}

// asideRandom is how many hexadecimal digits protocol.WriteFile gives a file that has no name yet.
const asideRandom = 12

// aside reports whether a name is that of a file which was being written.
func aside(name string) bool {
	i := strings.LastIndexByte(name, '.')
	if i < 1 || name[0] != '.' || len(name)-i-1 != asideRandom {
		return false
	}
	_, err := strconv.ParseUint(name[i+1:], 16, 64)
	return err == nil
}

// checkpoints finds those beyond the ones that the run keeps. A folder without its manifest is none.
func (c *collector) checkpoints(in *Info, dir *os.Root) {
	keep := c.o.KeepLast
	if keep < 0 {
		keep = max(0, in.Run.Experiment.Train.KeepLast)
	}
	at := func(step int) string {
		return filepath.Join(protocol.CheckpointDir, checkpointPrefix+strconv.Itoa(step))
	}
	var steps []int
	for _, name := range c.names(dir, protocol.CheckpointDir) {
		digits, ok := strings.CutPrefix(name, checkpointPrefix)
		step, err := strconv.Atoi(digits)
		if !ok || err != nil || step < 0 || strconv.Itoa(step) != digits || mine(dir, at(step)) == nil {
			continue
		}
		if _, err := dir.Lstat(filepath.Join(at(step), manifestFile)); err == nil {
			steps = append(steps, step)
		}
	}
	slices.Sort(steps)
	for _, step := range steps[:max(0, len(steps)-keep)] {
		w := withdrawal{path: at(step), Garbage: Garbage{Kind: GarbageCheckpoint, Run: in.ID, Path: filepath.Join(in.ID, at(step)), Why: fmt.Sprintf("step %d; the last %d stay", step, keep)}}
		if !c.o.Delete {
			c.take(dir, w.path, w.Garbage)
			continue
		}
		// It loses its name first, so that nobody ever finds a part of it.
		w.hidden = filepath.Join(protocol.CheckpointDir, protocol.CheckpointAside+strconv.Itoa(step)+".old")
		if err := dir.Rename(w.path, w.hidden); err != nil {
			c.errs = append(c.errs, fmt.Errorf("free %s: %w", w.Path, record.Explain(err)))
			continue
		}
		c.aside = append(c.aside, w)
	}
}

// withdrawal is a checkpoint that has lost its name and is still whole.
type withdrawal struct {
	path, hidden string // in the run
	Garbage
}

// withdrawn frees the checkpoints that lost their names. What began while they were looked for may have chosen one of them: it gets
// its name back. What begins from here on does not find them.
func (c *collector) withdrawn() {
	if len(c.aside) == 0 {
		return
	}
	infos, _ := c.store.List(context.WithoutCancel(c.ctx)) // whatever is not in it is not freed
	used, over := startedFrom(infos), map[string]bool{}
	for i := range infos {
		over[infos[i].ID] = infos[i].State.Over()
	}
	for _, w := range c.aside {
		dir, err := openRun(c.root, w.Run)
		if err != nil {
			c.errs = append(c.errs, fmt.Errorf("free %s: %w", w.Path, record.Explain(err)))
			continue
		}
		if over[w.Run] && !used[w.Run] && c.ctx.Err() == nil {
			c.take(dir, w.hidden, w.Garbage)
		} else {
			c.back(dir, w.hidden, w.path)
		}
		_ = dir.Close() // nothing was written through it
	}
}

// What a run's checkpoints are called, and the file that makes one whole.
const (
	checkpointPrefix = "step-"
	manifestFile     = "manifest.json"
)
