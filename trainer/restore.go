package trainer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"boost-tui/kernels"
	"boost-tui/model"
	"boost-tui/step"
	"boost-tui/trainer/checkpoint"
)

// begin gives the step its first state: what a checkpoint holds, or weights that are drawn.
func (r *rank) begin(ctx context.Context, t *training) error {
	m, err := r.restore(ctx, t.step)
	if err != nil {
		return err
	}
	if m == nil {
		if err := r.initialize(ctx, t.step.Model()); err != nil {
			return err
		}
	}
	if r.saver, err = r.newSaver(t.step); err != nil {
		return err
	}
	t.ratios = r.newRatios(t.step)
	if m != nil {
		t.done = m.Step
		r.saver.resumed(m)
	}
	return nil
}

// restore brings the state of the checkpoint that the experiment resumes into the step, and gives its manifest; nil where it
// resumes none.
func (r *rank) restore(ctx context.Context, s *step.Step) (m *checkpoint.Manifest, err error) {
	dir := r.spec.Experiment.Train.Resume
	if dir == "" {
		return nil, nil
	}
	c, err := checkpoint.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("resume: %w", err)
	}
	defer func() { err = errors.Join(hintBefore(err, "resume", c), c.Close()) }()
	if err := checkpoint.Fits(c.Manifest, r.spec.Experiment); err != nil {
		return nil, fmt.Errorf("resume %s: %w", dir, err)
	}
	if err := loadSupports(ctx, s, c); err != nil {
		return nil, fmt.Errorf("resume: %w", err)
	}
	state, most := s.State(), int64(1)
	for _, slot := range state {
		most = max(most, slot.View.Bytes())
	}
	l := loader{dev: r.dev.flight, c: c}
	if l.host, err = l.dev.Host(most); err != nil {
		return nil, fmt.Errorf("resume: %w", err)
	}
	for _, slot := range state {
		if s.Mixed() && slot.Kind == step.Weight && !slot.Param.Grad.IsZero() {
			continue // from its whole part
		}
		if err := l.load(ctx, slot); err != nil {
			return nil, fmt.Errorf("resume: %w", err)
		}
	}
	if s.Mixed() {
		if err := l.weights(ctx, s.Model()); err != nil {
			return nil, fmt.Errorf("resume: %w", err)
		}
	}
	r.logf("resumes after step %d: %s", c.Manifest.Step, dir)
	return c.Manifest, nil
}

// hintBefore adds to the error of a checkpoint that turned out to be damaged what to try instead.
func hintBefore(err error, flag string, c *checkpoint.Checkpoint) error {
	if !errors.Is(err, checkpoint.ErrDamaged) {
		return err
	}
	before := checkpoint.Before(c.Dir, c.Manifest.Run)
	if before == "" {
		return fmt.Errorf("%w; there is no checkpoint before it", err)
	}
	return fmt.Errorf("%w; the checkpoint before it may be whole: --%s %s", err, flag, before)
}

// loadSupports sets where the elements of sparse matrices lie, before their values.
func loadSupports(ctx context.Context, s *step.Step, c *checkpoint.Checkpoint) error {
	for _, p := range s.Model().Params() {
		name := indexName(p.Name)
		if name == p.Name+".sparse_index" {
			continue
		}
		data := make([]byte, 8*p.Cols)
		if err := c.Read(data, name, "I64", []int64{int64(p.Cols)}, checkpoint.Whole(1, p.Cols)); err != nil {
			return err
		}
		places := make([]int64, p.Cols)
		for i := range places {
			places[i] = int64(binary.LittleEndian.Uint64(data[8*i:]))
		}
		linear := name[:len(name)-len(".sparse_index")]
		if err := s.Model().LoadSupport(ctx, linear, places); err != nil {
			return err
		}
	}
	return nil
}

// loader uploads parts of a checkpoint through one piece of host memory.
type loader struct {
	dev  kernels.Device
	c    *checkpoint.Checkpoint
	host *kernels.Host
}

func (l *loader) load(ctx context.Context, s step.Slot) error {
	it, n := itemOf(s), s.View.Bytes()
	if n == 0 {
		return nil
	}
	if err := l.c.Read(l.host.Bytes[:n], it.Name, it.DType, it.Shape, it.Part); err != nil {
		return err
	}
	label := kernels.Label{Phase: kernels.Data, Layer: -1, Chunk: "resume", Op: it.Name}
	if err := l.dev.Do(kernels.Call{Label: label}, &kernels.Upload{Src: l.host, Dst: s.View}); err != nil {
		return err
	}
	return l.dev.Sync(ctx, l.dev.Compute())
}

// weights sets those that are rounded from what the checkpoint holds, and with them what they are rounded from.
func (l *loader) weights(ctx context.Context, m *model.Decoder) error {
	for _, p := range m.Params() {
		if p.Grad.IsZero() || p.Weight.Len() == 0 {
			continue
		}
		whole := p.Weight
		whole.DType = kernels.F32 // as it was saved
		it := itemOf(step.Slot{Kind: step.Weight, Param: p, View: whole})
		data := make([]byte, whole.Bytes())
		if err := l.c.Read(data, it.Name, it.DType, it.Shape, it.Part); err != nil {
			return err
		}
		part := make([]float32, p.Weight.Len())
		for i := range part {
			part[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
		if err := m.LoadPart(ctx, p.Name, part); err != nil {
			return err
		}
	}
	return nil
}
