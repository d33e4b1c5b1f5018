package trainer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"boost-tui/internal/wallclock"
	"boost-tui/kernels"
	"boost-tui/model"
	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
	"boost-tui/step"
	"boost-tui/trainer/checkpoint"
	"boost-tui/trainer/mesh"
	"boost-tui/trainer/rendezvous"
)

// savePatience is how long a rank that ends because of a failure waits for a checkpoint that is being written.
const savePatience = 5 * time.Second

// saver writes the rank's share of checkpoints. Training waits while the share is copied in host memory, and where the checkpoint before
// is still being written; the rest happens on a goroutine of the saver's, one at a time.
type saver struct {
	r      *rank
	share  []piece
	layout *checkpoint.Layout
	host   *kernels.Host // the body of the rank's file; nil before the first checkpoint

	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{} // closed when what is being written has ended; nil: nothing was begun
	last   int           // the step that was saved last
	tokens int64         // that were seen before the first step of this run
	first  int           // step after which this run began
	// scattered says that other ranks' files are on other file systems: only parts of checkpoints can be made here.
	scattered bool
}

// piece is what a rank writes of one tensor: elements of the device, or numbers that the host knows.
type piece struct {
	item checkpoint.Item
	view kernels.View
	ints []int64
}

// share lists what a rank writes: of tensors that several ranks hold alike, the first of them.
func shareOf(slots []step.Slot, at mesh.Coordinate) []piece {
	var out []piece
	for _, s := range slots {
		if s.Param.Replicated && at.TP > 0 || !s.Sliced && at.DP > 0 {
			continue
		}
		it := itemOf(s)
		out = append(out, piece{item: it, view: s.View})
		if s.Param.Places != nil && s.Kind == step.Weight {
			it.Name, it.DType = indexName(s.Param.Name), "I64"
			out = append(out, piece{item: it, ints: s.Param.Places})
		}
	}
	return out
}

// indexName is what the places of a sparse matrix's elements are called, given the name of its values.
func indexName(values string) string {
	linear, _ := strings.CutSuffix(values, ".sparse_value")
	return linear + ".sparse_index"
}

// itemOf is a slot as checkpoints know it.
func itemOf(s step.Slot) checkpoint.Item {
	p := &s.Param
	return checkpoint.Item{Name: slotName(s), DType: "F32", Shape: shapeOf(p), Part: checkpoint.Part{
		RowLo: p.RowLo, RowHi: p.RowHi, ColLo: p.ColLo, ColHi: p.ColHi, From: s.From, Count: s.View.Len(), Picks: p.Picks}}
}

func slotName(s step.Slot) string {
	switch s.Kind {
	case step.FirstMoment:
		return checkpoint.FirstMoment + s.Param.Name
	case step.SecondMoment:
		return checkpoint.SecondMoment + s.Param.Name
	default:
		return s.Param.Name
	}
}

// shapeOf is the shape of a parameter: a vector has one dimension.
func shapeOf(p *model.Param) []int64 {
	if vector := p.Rows == 1 && !strings.HasSuffix(p.Name, ".A") && !strings.HasSuffix(p.Name, ".B"); vector {
		return []int64{int64(p.Cols)}
	}
	return []int64{int64(p.Rows), int64(p.Cols)}
}

// newSaver prepares the rank's share; nil where the run writes no checkpoints.
func (r *rank) newSaver(s *step.Step) (*saver, error) {
	if r.spec.Experiment.Train.KeepLast == 0 {
		return nil, nil
	}
	at, err := r.mesh.Coordinate(r.spec.Rank)
	if err != nil {
		return nil, err
	}
	v := &saver{r: r, share: shareOf(s.State(), at)}
	if _, err := os.Lstat(filepath.Join(r.spec.RunDir, protocol.ScatteredFile)); err == nil {
		v.scattered = true
	}
	v.ctx, v.cancel = context.WithCancel(context.Background())
	items := make([]checkpoint.Item, len(v.share))
	for i, p := range v.share {
		items[i] = p.item
	}
	v.layout, err = checkpoint.NewLayout(items)
	return v, err
}

// resumed says which state the run began with: it is there already, and needs no checkpoint of its own.
func (v *saver) resumed(m *checkpoint.Manifest) {
	if v != nil {
		v.tokens, v.first, v.last = m.Tokens, m.Step, m.Step
	}
}

// save takes a checkpoint of the state after a step. An error is the device's; what goes wrong with files is an event, and training
// goes on.
func (v *saver) save(ctx context.Context, step int) error {
	if v == nil || v.last == step {
		return nil
	}
	if err := v.wait(ctx); err != nil {
		return err
	}
	if err := v.copy(ctx); err != nil {
		return fmt.Errorf("checkpoint of step %d: %w", step, err)
	}
	v.last, v.done = step, make(chan struct{})
	go func() {
		defer close(v.done)
		v.write(step)
	}()
	return nil
}

// copy brings the share from the device to the host.
func (v *saver) copy(ctx context.Context) error {
	dev := v.r.dev.flight
	if v.host == nil {
		var err error
		if v.host, err = dev.Host(max(v.layout.Bytes(), 1)); err != nil {
			return err
		}
	}
	for n, p := range v.share {
		at := v.layout.At(n)
		for i, place := range p.ints {
			binary.LittleEndian.PutUint64(v.host.Bytes[at+8*int64(i):], uint64(place))
		}
		if p.ints != nil || p.view.Len() == 0 {
			continue
		}
		label := kernels.Label{Phase: kernels.Data, Layer: -1, Chunk: "checkpoint", Op: p.item.Name}
		if err := dev.Do(kernels.Call{Label: label}, &kernels.Download{Src: p.view, Dst: v.host, Offset: at}); err != nil {
			return err
		}
	}
	return dev.Sync(ctx, dev.Compute())
}

// wait blocks until nothing is being written.
func (v *saver) wait(ctx context.Context) error {
	if v == nil || v.done == nil {
		return nil
	}
	select {
	case <-v.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// close waits for what is being written; after a failure not for long.
func (v *saver) close(failed bool) {
	if v == nil {
		return
	}
	if failed {
		defer time.AfterFunc(savePatience, v.cancel).Stop()
	}
	if v.done != nil {
		<-v.done
	}
	v.cancel()
}

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
