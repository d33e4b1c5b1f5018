package weights

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"boost-tui/experiment"
	"boost-tui/trainer/checkpoint"
)

// Checkpoint is the weights of a checkpoint.
type Checkpoint struct{ *checkpoint.Checkpoint }

// OpenCheckpoint opens the checkpoint in a folder.
func OpenCheckpoint(dir string) (*Checkpoint, error) {
	c, err := checkpoint.Open(dir)
	if err != nil {
		return nil, err
	}
	return &Checkpoint{c}, nil
}

// Shape implements Source.
func (c *Checkpoint) Shape(name string) []int64 {
	t, _ := c.Tensor(name)
	return t.Shape
}

// Read implements Source.
func (c *Checkpoint) Read(name string) ([]float32, error) {
	data, err := c.bytes(name)
	if err != nil {
		return nil, err
	}
	t, _ := c.Tensor(name)
	return floats(t.DType, data)
}

// bytes is a whole tensor.
func (c *Checkpoint) bytes(name string) ([]byte, error) {
	t, ok := c.Tensor(name)
	if !ok {
		return nil, fmt.Errorf("checkpoint %s has no tensor %q", c.Dir, name)
	}
	rows, cols := t.Dims()
	data := make([]byte, rows*cols*checkpoint.Width(t.DType))
	return data, c.Checkpoint.Read(data, name, t.DType, t.Shape, checkpoint.Whole(rows, cols))
}

// Places implements Source.
func (c *Checkpoint) Places(linear string) ([]int64, error) {
	name := linear + ".sparse_index"
	if !c.Has(name) {
		return nil, nil
	}
	data, err := c.bytes(name)
	if err != nil {
		return nil, err
	}
	return integers(data), nil
}

// Own implements Source.
func (c *Checkpoint) Own(v experiment.Variant) bool { return c.Manifest.Experiment.Model.Variant == v }

// Called implements Source.
func (c *Checkpoint) Called(name string) string { return name }

// misfits implements Source.
func (c *Checkpoint) misfits(e experiment.Experiment) []string {
	was := c.Manifest.Experiment
	keys := checkpoint.Shape + " " + checkpoint.Function
	if c.Own(e.Model.Variant) {
		keys += " " + checkpoint.Form
	}
	reasons := checkpoint.Differences(was, e, keys)
	if v := was.Model.Variant; !c.Own(e.Model.Variant) && (v == experiment.CoLA || v == experiment.LaX) {
		reasons = append(reasons, fmt.Sprintf("variant is %s, the checkpoint's %s: a linear of that %v", e.Model.Variant, v, ErrNotDense))
	}
	return reasons
}

// Dense implements Source (METHOD.md §2).
func (c *Checkpoint) Dense(linear string) ([]float32, error) {
	m := c.Manifest.Experiment.Model
	scale := float32(1)
	switch m.Variant {
	case experiment.Full:
		return c.Read(linear + ".weight")
	case experiment.SVD, experiment.LORO:
	case experiment.ReLoRA, experiment.SLTrain:
		a := c.Shape(linear + ".A")
		if len(a) != 2 || a[0] == 0 {
			return nil, fmt.Errorf("checkpoint %s: %s has no factors", c.Dir, linear)
		}
		scale = float32(max(m.ReLoRAAlpha, m.SLTrainAlpha) / float64(a[0]))
	default:
		return nil, fmt.Errorf("a linear of variant %s %w", m.Variant, ErrNotDense)
	}
	return c.product(linear, scale)
}

// product is scale·B·A, and what lies beside it.
func (c *Checkpoint) product(linear string, scale float32) ([]float32, error) {
	a, errA := c.Read(linear + ".A")
	b, errB := c.Read(linear + ".B")
	if err := errors.Join(errA, errB); err != nil {
		return nil, err
	}
	shapeA, shapeB := c.Shape(linear+".A"), c.Shape(linear+".B")
	if len(shapeA) != 2 || len(shapeB) != 2 || shapeA[0] != shapeB[1] {
		return nil, fmt.Errorf("checkpoint %s: factors %v and %v of %s", c.Dir, shapeA, shapeB, linear)
	}
	rank, in, out := int(shapeA[0]), int(shapeA[1]), int(shapeB[0])
	w, beta := make([]float32, out*in), float32(0)
	if c.Has(linear + ".weight") {
		var err error
		if w, err = c.Read(linear + ".weight"); err != nil {
			return nil, err
		}
		beta = 1
	}
	if len(w) != out*in {
		return nil, fmt.Errorf("checkpoint %s: %s has %d elements, its factors' product %d", c.Dir, linear, len(w), out*in)
	}
	general := func(data []float32, rows, cols int) blas32.General {
		return blas32.General{Rows: rows, Cols: cols, Stride: cols, Data: data}
	}
	blas32.Gemm(blas.NoTrans, blas.NoTrans, scale, general(b, out, rank), general(a, rank, in), beta, general(w, out, in))
	places, err := c.Places(linear)
	if err != nil || places == nil {
		return w, err
	}
	values, err := c.Read(linear + ".sparse_value")
	if err != nil || len(values) != len(places) {
		return nil, errors.Join(err, fmt.Errorf("checkpoint %s: %d values and %d places of %s", c.Dir, len(values), len(places), linear))
	}
	for i, at := range places {
		if at < 0 || at >= int64(len(w)) {
			return nil, fmt.Errorf("checkpoint %s: %s has an element at %d of %d", c.Dir, linear, at, len(w))
		}
		w[at] += values[i]
	}
	return w, nil
}
