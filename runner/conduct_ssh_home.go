package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner/mirror"
	"boost-tui/runner/protocol"
)

// home is the folder of a run whose hosts do not see it: what they write comes here.
type home struct {
	run *sshRun
	dir string

	mu       sync.Mutex
	result   []byte // result.json as the agents have it, kept back until everything else is here
	meet     []byte // meet.json of the first host, for the others
	joined   []int  // steps of the last checkpoints that were put together, as many as are kept, in order
	failures []error

	cancel context.CancelFunc
	wg     sync.WaitGroup
}

func newHome(r *sshRun) *home {
	h := &home{run: r, dir: r.job.Dir}
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	h.wg.Go(func() { h.keepUp(ctx) })
	return h
}

func (h *home) close() {
	h.cancel()
	h.wg.Wait()
}

func (h *home) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures = append(h.failures, err)
}

func (h *home) hasResult() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.result != nil
}

// whole reports whether everything came home, so that hosts may drop their parts.
func (h *home) whole() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.failures) == 0
}

// keepUp does once a second what an agent does where it sees the files of all ranks: it puts their steps together, and the parts of
// checkpoints.
func (h *home) keepUp(ctx context.Context) {
	tick := time.NewTicker(meterEvery)
	defer tick.Stop()
	var rollup *record.RollupWriter
	for {
		select {
		case <-ctx.Done():
			if rollup != nil {
				_, err := rollup.Poll(context.Background())
				if err = errors.Join(err, rollup.Close()); err != nil {
					h.fail(err)
				}
			}
			return
		case <-tick.C:
		}
		if rollup == nil {
			var err error
			if rollup, err = record.OpenRollupWriter(h.dir, allRanks(h.run.job.Run.World())); err != nil {
				rollup = nil // the disk may have room again
				continue
			}
		}
		_, _ = rollup.Poll(ctx) // it goes on at the next tick
		h.join()
	}
}

func allRanks(world int) []int {
	ranks := make([]int, world)
	for i := range ranks {
		ranks[i] = i
	}
	return ranks
}

// catchUp tells a host again what it may have missed.
func (h *home) catchUp(x *sshHost, k *mirror.Keeper) error {
	h.mu.Lock()
	meet := h.meet
	h.mu.Unlock()
	if meet == nil || x.index == 0 {
		return nil
	}
	return k.PushWhole(protocol.MeetFile, meet)
}

// met hands on where the ranks meet.
func (h *home) met(data []byte) {
	h.mu.Lock()
	h.meet = data
	h.mu.Unlock()
	for _, x := range h.run.hosts[1:] {
		if t := x.current(); t != nil {
			_ = t.keeper.PushWhole(protocol.MeetFile, data) // one that breaks off now hears it when it is back
		}
	}
}

// join puts checkpoints together whose parts are all here, and has the hosts drop theirs. After a while without room for them several
// may be due at once; those that are kept are the latest, as many as the run keeps.
func (h *home) join() {
	if h.run.job.Join == nil {
		return
	}
	for _, step := range slices.Backward(h.parts()) {
		if !h.unwanted(step) {
			if h.run.job.Join(h.dir, h.run.job.Run.World(), step, h.keeps()) != nil {
				continue // parts are missing, or there is no room for it now
			}
			h.mu.Lock()
			h.joined = append(h.joined, step)
			slices.Sort(h.joined)
			h.joined = slices.Delete(h.joined, 0, max(0, len(h.joined)-h.keeps())) // no part before them is wanted
			h.mu.Unlock()
		}
		h.drop(step)
	}
}

// unwanted reports whether parts of a checkpoint are of no use any more: it was put together, or as many later ones were as are kept.
func (h *home) unwanted(step int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	later := 0
	for _, s := range h.joined {
		if s == step {
			return true
		}
		if s > step {
			later++
		}
	}
	return later >= h.keeps()
}

// keeps is how many checkpoints the run keeps.
func (h *home) keeps() int { return max(1, h.run.job.Run.Experiment.Train.KeepLast) }

func (h *home) drop(step int) {
	name := path.Join(protocol.CheckpointDir, fmt.Sprintf("%s%d", protocol.CheckpointPart, step))
	_ = os.RemoveAll(filepath.Join(h.dir, filepath.FromSlash(name))) // what stays is removed at the end
	for _, x := range h.run.hosts {
		x.send(mirror.Message{Kind: mirror.Gone, Name: name})
	}
}

// parts lists the steps of which parts are here, in order.
func (h *home) parts() []int {
	entries, err := os.ReadDir(filepath.Join(h.dir, protocol.CheckpointDir))
	if err != nil {
		return nil
	}
	var steps []int
	for _, e := range entries {
		if step, ok := partOf(protocol.CheckpointDir + "/" + e.Name()); ok && e.IsDir() {
			steps = append(steps, step)
		}
	}
	slices.Sort(steps)
	return steps
}

// conclude completes the run's folder after the last host, and writes the result.
func (h *home) conclude() error {
	h.close()
	h.join()
	for _, step := range h.parts() { // of which some will never come
		h.drop(step)
	}
	h.mu.Lock()
	data, failures := h.result, errors.Join(h.failures...)
	h.mu.Unlock()
	if data == nil || resultThere(h.dir) {
		return failures
	}
	r, err := ParseResult(data)
	if err != nil {
		return errors.Join(err, failures)
	}
	if failures != nil && r.State == Finished {
		r.Cause = clean(failures.Error(), maxLineRunes)
	}
	err = errors.Join(removeReserve(h.dir), forgetMeeting(h.dir), completeRollup(h.dir, h.run.job.Run.World()))
	r.Summary = summarize(h.dir, r) // the agents knew only what lay on their hosts
	if written := writeNewResult(h.dir, r); !errors.Is(written, fs.ErrExist) {
		err = errors.Join(err, written)
	}
	return errors.Join(err, failures)
}
