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
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner/mirror"
	"boost-tui/runner/protocol"
)

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
	if _, err := claim(h.dir, me); err != nil && !errors.Is(err, fs.ErrExist) {
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
