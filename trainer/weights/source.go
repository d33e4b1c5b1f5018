package weights

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"boost-tui/experiment"
	"boost-tui/internal/regular"
	"boost-tui/trainer/checkpoint"
)

// Source is somebody's weights, by this program's names.
type Source interface {
	// Shape is that of a tensor; nil where there is none of that name.
	Shape(name string) []int64
	// Read is a tensor, row by row.
	Read(name string) ([]float32, error)
	// Dense is the matrix of a linear ("layers.0.q") as a whole: its weight, or what its factors and its sparse part make together. ErrNotDense where a
	// linear is no matrix.
	Dense(linear string) ([]float32, error)
	// Places are where the elements of a linear's sparse part lie in the matrix, row by row; nil where it has none.
	Places(linear string) ([]int64, error)
	// Own reports whether these are weights of a variant as they are, not those of a model that it can start from.
	Own(v experiment.Variant) bool
	// Called is what the source itself calls a tensor.
	Called(name string) string
	// misfits says why an experiment's model would not compute what the weights were trained for; empty: it would.
	misfits(e experiment.Experiment) []string
	Close() error
}

// ErrForm says that a file is no safetensors file.
var ErrForm = errors.New("is not a safetensors file")

// ErrNotDense says that a linear cannot be written as one matrix: there is an activation, or another layer's latent, between its factors.
var ErrNotDense = errors.New("is not one matrix")

// Open opens a LLaMA safetensors file, or the folder of a checkpoint.
func Open(path string) (Source, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		return OpenCheckpoint(path)
	}
	f, err := regular.Follow(path)
	if err != nil {
		return nil, err
	}
	arrays, err := checkpoint.OpenArrays(f, st.Size())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s %w: %w", path, ErrForm, err), f.Close())
	}
	return &file{path: path, f: f, arrays: arrays}, nil
}

// file is a safetensors file with foreign names.
type file struct {
	path   string
	f      *os.File
	arrays *checkpoint.File
}

func (s *file) Close() error { return s.f.Close() }

func (s *file) Shape(name string) []int64 {
	if a, ok := s.arrays.Arrays[s.key(name)]; ok {
		return a.Shape
	}
	return nil
}

// key is what the file calls a tensor. A head that is tied to the embedding is not there by itself.
func (s *file) key(name string) string {
	key := Foreign(name)
	if _, ok := s.arrays.Arrays[key]; !ok && name == "lm_head.weight" {
		return Foreign("embed.weight")
	}
	return key
}

func (s *file) Read(name string) ([]float32, error) {
	key := s.key(name)
	a, ok := s.arrays.Arrays[key]
	if !ok {
		return nil, fmt.Errorf("%s has no tensor %q", s.path, key)
	}
	data := make([]byte, a.Bytes())
	if err := s.arrays.Read(data, key, 0); err != nil {
		return nil, fmt.Errorf("%s: %w", s.path, err)
	}
	out, err := floats(a.DType, data)
	if err != nil {
		return nil, fmt.Errorf("%s: tensor %q: %w", s.path, key, err)
	}
	return out, nil
}

func (s *file) Dense(linear string) ([]float32, error) { return s.Read(linear + ".weight") }

// Own implements Source: a file tells by what it holds.
func (s *file) Own(v experiment.Variant) bool {
	const linear = "layers.0.q."
	return (s.Shape(linear+"A") != nil) == (v != experiment.Full) && (s.Shape(linear+"weight") != nil) == (v == experiment.Full || v == experiment.ReLoRA) &&
		(s.Shape(linear+"sparse_index") != nil) == (v == experiment.SLTrain)
}

// Called implements Source.
func (s *file) Called(name string) string { return s.key(name) }

// Places implements Source.
func (s *file) Places(linear string) ([]int64, error) {
	key := Foreign(linear + ".sparse_index")
	a, ok := s.arrays.Arrays[key]
	if !ok || a.DType != "I64" {
		return nil, nil
	}
	data := make([]byte, a.Bytes())
	if err := s.arrays.Read(data, key, 0); err != nil {
		return nil, fmt.Errorf("%s: %w", s.path, err)
	}
	return integers(data), nil
}

func integers(data []byte) []int64 {
	out := make([]int64, len(data)/8)
	for i := range out {
		out[i] = int64(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return out
}

// floats converts elements.
func floats(dtype string, data []byte) ([]float32, error) {
	width := checkpoint.Width(dtype)
	out := make([]float32, len(data)/max(width, 1))
	switch dtype {
	case "F32":
		for i := range out {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
	case "BF16":
		for i := range out {
			out[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(data[2*i:])) << 16)
		}
	case "F16":
		for i := range out {
			out[i] = half(binary.LittleEndian.Uint16(data[2*i:]))
		}
	default:
		return nil, fmt.Errorf("elements of type %s: F32, BF16 and F16 are read", dtype)
	}
	return out, nil
}

// half is an IEEE 754 half-precision number.
func half(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&1023)
	switch exponent {
	case 0: // subnormal, or zero
		v := float32(fraction) / (1 << 24)
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 31: // infinite, or not a number
		return math.Float32frombits(sign | 255<<23 | fraction<<13)
	default:
		return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
	}
}

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
	return floats("F32", data)
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

// linearOf is the linear that a tensor belongs to; empty: none.
func linearOf(name string) string {
	_, module, _, ok := cutName(name)
	if !ok || strings.HasSuffix(module, "norm") {
		return ""
	}
	return name[:strings.LastIndexByte(name, '.')]
}
