package trainer

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"boost-tui/kernels"
	"boost-tui/runner/protocol"
	"boost-tui/step"
	"boost-tui/trainer/checkpoint"
)

// savePatience is how long a rank that ends because of a failure waits for a checkpoint that is being written.
const savePatience = 5 * time.Second

// saver writes the rank's share of checkpoints. Training waits while the share is copied in host memory, and where the checkpoint before
// is still being written; the rest happens on a goroutine of the saver's, one at a time.
type saver struct {
	r      *rank
	share  []piece
	spans  []span // of the share's elements on the device
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
	if v.layout, err = checkpoint.NewLayout(items); err != nil {
		return nil, err
	}
	v.spans = spansOf(v.share, v.layout.At)
	return v, nil
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
	}
	label := kernels.Label{Phase: kernels.Data, Layer: -1, Chunk: "checkpoint", Op: "state"}
	for _, s := range v.spans {
		if err := dev.Do(kernels.Call{Label: label}, &kernels.Download{Src: s.view, Dst: v.host, Offset: s.at}); err != nil {
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
