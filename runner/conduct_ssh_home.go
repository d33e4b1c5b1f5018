package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
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
	joined   int    // step of the last checkpoint that was put together; -1: none
	failures []error

	cancel context.CancelFunc
	wg     sync.WaitGroup
}

func newHome(r *sshRun) (*home, error) {
	h := &home{run: r, dir: r.job.Dir, joined: -1}
	if r.job.Run.Experiment.Train.InitFrom != "" && r.job.Run.Experiment.Train.Resume == "" {
		if _, err := os.Stat(r.job.Run.Experiment.Train.InitFrom); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	h.wg.Go(func() { h.keepUp(ctx) })
	return h, nil
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

// prepare gives every host what its ranks need.
func (h *home) prepare(ctx context.Context) error {
	if err := h.await(ctx); err != nil {
		return err
	}
	return h.run.each(ctx, func(x *sshHost, ctx context.Context) error {
		if err := h.provide(ctx, x); err != nil {
			return fmt.Errorf("host %s: give it what the run needs: %w", x.name, record.Explain(err))
		}
		return nil
	})
}

// await waits for the run before this one: the hosts do not see that one's folder.
func (h *home) await(ctx context.Context) error {
	before := h.run.job.Run.After
	if before == "" {
		return nil
	}
	me, err := self()
	if err != nil {
		return err
	}
	if err := claim(h.dir, me, wallNow()); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	tick := time.NewTicker(awaitEvery)
	defer tick.Stop()
	for n := 1; !over(filepath.Join(filepath.Dir(h.dir), before), me); n++ {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		if reason, ok := cancelRequest(h.dir); ok {
			return &endedEarly{reason}
		}
		for _, x := range h.run.hosts {
			x.send(mirror.Message{Kind: mirror.Beat})
		}
		if n%beatEvery == 0 {
			_ = beat(h.dir, n/beatEvery) // the next one may succeed
		}
	}
	err = os.Remove(filepath.Join(h.dir, protocol.WaitingFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

// provide gives a host the run's description, and the checkpoint or the weights that it begins with.
func (h *home) provide(ctx context.Context, x *sshHost) error {
	t := x.current()
	if t == nil {
		return errors.New("the connection ended")
	}
	r := h.run.job.Run
	r.After = "" // it is over
	train := &r.Experiment.Train
	for _, w := range []struct {
		path   *string
		folder string
	}{{&train.Resume, fromDir}, {&train.InitFrom, initDir}} {
		if *w.path == "" {
			continue
		}
		name, err := pushTree(ctx, t.keeper, *w.path, w.folder)
		if err != nil {
			return err
		}
		*w.path = path.Join(x.where(), name)
	}
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return t.keeper.PushWhole(protocol.RunFile, append(data, '\n'))
}

// pushTree sends a file, or the files of a folder, to a folder of a host, and gives the name of what it is there.
func pushTree(ctx context.Context, k *mirror.Keeper, from, folder string) (string, error) {
	st, err := os.Stat(from)
	if err != nil {
		return "", err
	}
	if !st.IsDir() {
		const weights = "weights.safetensors"
		return folder + "/" + weights, k.Push(ctx, from, folder+"/"+weights)
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || mirror.CheckName(e.Name()) != nil {
			continue
		}
		if err := k.Push(ctx, filepath.Join(from, e.Name()), folder+"/"+e.Name()); err != nil {
			return "", err
		}
	}
	return folder, nil
}

func (h *sshHost) where() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.folder
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

// join puts checkpoints together whose parts are all here, and has the hosts drop theirs.
func (h *home) join() {
	if h.run.job.Join == nil {
		return
	}
	steps := h.parts()
	for i := len(steps) - 1; i >= 0; i-- {
		step := steps[i]
		if err := h.run.job.Join(h.dir, h.run.job.Run.World(), step, h.run.job.Run.Experiment.Train.KeepLast); err != nil {
			continue // parts are missing, or there is no room for it now
		}
		h.mu.Lock()
		h.joined = max(h.joined, step)
		h.mu.Unlock()
		for _, old := range steps[:i+1] { // older ones are of no use any more
			h.drop(old)
		}
		return
	}
}

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
	err = errors.Join(removeReserve(h.dir), completeRollup(h.dir, h.run.job.Run.World()))
	r.Summary = summarize(h.dir, r) // the agents knew only what lay on their hosts
	if written := writeNewResult(h.dir, r); !errors.Is(written, fs.ErrExist) {
		err = errors.Join(err, written)
	}
	return errors.Join(err, failures)
}

// hostFiles is what comes home from one host.
type hostFiles struct {
	home *home
	host *sshHost
	sink *mirror.Sink
	kept map[string][]byte // files that are not kept as they come, as far as they are here
}

func newHostFiles(x *sshHost) (*hostFiles, error) {
	sink, err := mirror.NewSink(x.run.job.Dir, homeNames(x.share(), x.run.job.Run.World()))
	if err != nil {
		return nil, err
	}
	return &hostFiles{home: x.run.home, host: x, sink: sink, kept: map[string][]byte{}}, nil
}

func (f *hostFiles) sync() error { return f.sink.Sync() }

// take takes what is not kept as it comes: the result, which comes last, where ranks meet, which is for the other hosts alone,
// and parts of checkpoints that are joined already.
func (f *hostFiles) take(m mirror.Message) (taken bool, err error) {
	switch m.Name {
	case protocol.ResultFile:
		return true, f.collect(m, func(data []byte) {
			f.home.mu.Lock()
			defer f.home.mu.Unlock()
			if f.home.result == nil || f.host.index == 0 {
				f.home.result = data
			}
		})
	case protocol.MeetFile:
		return true, f.collect(m, f.home.met)
	}
	folder, _, ok := cutLast(m.Name)
	if step, isPart := partOf(folder); ok && isPart {
		f.home.mu.Lock()
		joined := f.home.joined
		f.home.mu.Unlock()
		if step <= joined {
			if m.Kind != mirror.Gone && m.Offset == 0 { // it has not heard
				f.host.send(mirror.Message{Kind: mirror.Gone, Name: strings.TrimSuffix(folder, "/")})
			}
			return true, nil
		}
	}
	return false, nil
}

func cutLast(name string) (folder, file string, ok bool) {
	folder, file = path.Split(name)
	return folder, file, folder != ""
}

// collect puts a file together in memory.
func (f *hostFiles) collect(m mirror.Message, whole func([]byte)) error {
	if m.Kind == mirror.Gone {
		return nil
	}
	if m.Kind != mirror.Whole {
		return fmt.Errorf("%w: message %c about %s", mirror.ErrMessage, m.Kind, m.Name)
	}
	if m.Flags&mirror.Fresh != 0 {
		f.kept[m.Name] = nil
	}
	data := f.kept[m.Name]
	if int64(len(data)) != m.Offset || len(data)+len(m.Data) > maxFileBytes {
		return fmt.Errorf("%w: %s goes on at %d", mirror.ErrMessage, m.Name, m.Offset)
	}
	data = append(data, m.Data...)
	f.kept[m.Name] = data
	if m.Flags&mirror.Last != 0 {
		delete(f.kept, m.Name)
		whole(data)
	}
	return nil
}
