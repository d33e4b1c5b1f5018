package trainer

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"boost-tui/internal/wallclock"
	"boost-tui/profiler/record"
	"boost-tui/trainer/checkpoint"
	"boost-tui/trainer/rendezvous"
)

// write writes the share, and on rank 0 makes the checkpoint of everybody's. It runs on the saver's goroutine.
func (v *saver) write(step int) {
	r, began := v.r, time.Now()
	dir, err := checkpoint.Begin(r.spec.RunDir, step)
	if err == nil {
		err = checkpoint.WriteShard(v.ctx, dir, r.spec.Rank, v.layout, v.host.Bytes)
	}
	if err != nil && r.spec.Rank > 0 {
		r.logf("%v", err)
		v.complain(step, err)
	}
	err = errors.Join(err, v.meet(fmt.Sprintf("ckpt/%d/written", step)))
	switch {
	case v.scattered:
		v.leave(step, began, err)
	case r.spec.Rank == 0:
		v.commit(step, began, err)
	}
	// Nobody begins the next one before this one has its name. A rank that does not come has other troubles.
	_ = v.meet(fmt.Sprintf("ckpt/%d/done", step))
}

// commit gives the checkpoint its name, if everybody has written, and says what became of it.
func (v *saver) commit(step int, began time.Time, err error) {
	r := v.r
	var bytes int64
	if err == nil {
		bytes, err = checkpoint.Commit(r.spec.RunDir, r.spec.World, v.manifest(step))
	}
	var absent *checkpoint.AbsentError
	if errors.As(err, &absent) {
		err = fmt.Errorf("rank %d: %s", absent.Rank, v.complaint(step, absent.Rank))
	}
	if err != nil {
		err = errors.Join(err, checkpoint.Drop(r.spec.RunDir, step))
	}
	v.report(step, bytes, time.Since(began), err)
	if err != nil {
		return
	}
	if err := checkpoint.Keep(r.spec.RunDir, r.spec.Experiment.Train.KeepLast); err != nil {
		r.logf("remove old checkpoints: %v", err)
	}
}

func (v *saver) manifest(step int) *checkpoint.Manifest {
	e := v.r.spec.Experiment
	return &checkpoint.Manifest{Step: step, Tokens: v.tokens + int64(step-v.first)*e.TokensPerStep(), Seed: e.Train.Seed,
		Run: filepath.Base(v.r.spec.RunDir), Resumed: e.Train.Resume, Experiment: e}
}

// report puts what became of a checkpoint into the log and the run's events.
func (v *saver) report(step int, bytes int64, took time.Duration, err error) {
	r := v.r
	l := record.EventLine{Kind: record.EventCkpt, TSNanos: wallclock.UnixNano(), Code: "written",
		Msg:  fmt.Sprintf("checkpoint of step %d, %d bytes in %.2f s", step, bytes, took.Seconds()),
		Data: map[string]any{"step": step, "bytes": bytes, "seconds": took.Seconds(), "dir": checkpoint.Dir(r.spec.RunDir, step)}}
	if err != nil {
		kept := "no older one is there"
		if steps, e := checkpoint.Steps(checkpoint.Folder(r.spec.RunDir)); e == nil && len(steps) > 0 {
			kept = fmt.Sprintf("that of step %d stays", steps[len(steps)-1])
		}
		l.Code, l.Data = "failed", map[string]any{"step": step}
		l.Msg = fmt.Sprintf("the checkpoint of step %d could not be written: %s; training goes on, and %s", step, oneLine(record.Explain(err).Error()), kept)
	}
	r.logf("%s", l.Msg)
	if err := r.event(&l); err != nil {
		r.logf("%v", err)
	}
}

// event adds a line to the run's events.
func (r *rank) event(l *record.EventLine) error {
	w, err := record.OpenWriter(record.EventsPath(r.spec.RunDir))
	if err != nil {
		return err
	}
	return errors.Join(w.Event(l), w.Close())
}

// complain tells rank 0 why this rank's part of a checkpoint is not there.
func (v *saver) complain(step int, why error) {
	ctx, cancel := context.WithTimeout(v.ctx, tellLimit)
	defer cancel()
	text := fmt.Sprintf("%d %s", step, oneLine(record.Explain(why).Error()))
	if err := v.r.link.client.Set(ctx, complaintKey(v.r.spec.Rank), []byte(text)); err != nil {
		v.r.logf("checkpoint of step %d: tell rank 0: %v", step, err)
	}
}

// complaint is what a rank had to say about a step's checkpoint.
func (v *saver) complaint(step, rank int) string {
	ctx, cancel := context.WithTimeout(v.ctx, tellLimit)
	defer cancel()
	b, err := v.r.link.client.Wait(ctx, complaintKey(rank), rank)
	number, text, _ := strings.Cut(string(b), " ")
	if err != nil || number != fmt.Sprint(step) {
		return "it left nothing, and did not say why"
	}
	return oneLine(text)
}

func complaintKey(rank int) string { return fmt.Sprintf("ckpt/why/%d", rank) }

// meet waits for the savers of all ranks, for as long as they are there: how fast their disks are nobody knows.
func (v *saver) meet(where string) error {
	if v.r.link.client == nil {
		return nil
	}
	for {
		err := v.r.link.client.Barrier(v.ctx, where)
		var late *rendezvous.PeerError
		if !errors.As(err, &late) || late.Gone || v.ctx.Err() != nil {
			return err
		}
	}
}
