package weights

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"

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

// tied reports whether the head is the embedding.
func (s *file) tied() bool { return s.key("lm_head.weight") != Foreign("lm_head.weight") }

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

// linearOf is the linear that a tensor belongs to; empty: none.
func linearOf(name string) string {
	_, module, _, ok := cutName(name)
	if !ok || strings.HasSuffix(module, "norm") {
		return ""
	}
	return name[:strings.LastIndexByte(name, '.')]
}
