package runner

import (
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
	if !in.Ended.IsZero() && c.now.Sub(in.Ended) < coolAfter {
		return
	}
	dir, err := openRun(c.root, in.ID)
	if err != nil {
		c.errs = append(c.errs, fmt.Errorf("look into run %s: %w", in.ID, err))
		return
	}
	defer dir.Close()
	for _, folder := range []string{".", filepath.Base(protocol.ExitDir("")), protocol.CheckpointDir} {
		for _, name := range c.names(dir, folder) {
			left := folder == protocol.CheckpointDir && strings.HasPrefix(name, protocol.CheckpointAside) ||
				folder != protocol.CheckpointDir && aside(name) || folder == "." && name == protocol.ReserveFile
			if !left {
				continue
			}
			path := filepath.Join(folder, name)
			if st := mine(dir, path); st != nil && c.now.Sub(st.ModTime()) > coolAfter {
				c.take(dir, path, Garbage{Kind: GarbageTemporary, Run: in.ID, Path: filepath.Join(in.ID, path), Why: "left by a program that was killed"})
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
		path, named := at(step), filepath.Join(in.ID, at(step))
		if c.o.Delete { // it loses its name first, so that nobody ever finds a part of it
			hidden := filepath.Join(protocol.CheckpointDir, protocol.CheckpointAside+strconv.Itoa(step)+".old")
			if err := dir.Rename(path, hidden); err != nil {
				c.errs = append(c.errs, fmt.Errorf("free %s: %w", named, record.Explain(err)))
				continue
			}
			path = hidden
		}
		c.take(dir, path, Garbage{Kind: GarbageCheckpoint, Run: in.ID, Path: named, Why: fmt.Sprintf("step %d; the last %d stay", step, keep)})
	}
}

// What a run's checkpoints are called, and the file that makes one whole.
const (
	checkpointPrefix = "step-"
	manifestFile     = "manifest.json"
)
