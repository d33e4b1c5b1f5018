package golden

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"boost-tui/trainer/checkpoint"
)

// Tensor is an array of a safetensors file. One of the slices holds the elements, row-major.
type Tensor struct {
	Shape []int
	F32   []float32
	I64   []int64
}

// headerMax is the largest header that a case may have; the format's own limit is 100 MB.
const headerMax = 16 << 20

// ParseSafetensors reads a whole file of the safetensors format. Arrays of types other than F32 and I64, and arrays that do not
// fit the file, are errors.
func ParseSafetensors(data []byte) (map[string]Tensor, error) {
	if len(data) >= 8 && binary.LittleEndian.Uint64(data) > headerMax {
		return nil, fmt.Errorf("safetensors: header of %d bytes, more than %d", binary.LittleEndian.Uint64(data), headerMax)
	}
	f, err := checkpoint.OpenArrays(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	out := make(map[string]Tensor, len(f.Arrays))
	for name, a := range f.Arrays {
		t := Tensor{Shape: make([]int, len(a.Shape))}
		for i, s := range a.Shape {
			t.Shape[i] = int(s)
		}
		elements := data[f.Start+a.Range[0] : f.Start+a.Range[1]]
		switch a.DType {
		case "F32":
			t.F32 = make([]float32, len(elements)/4)
			for i := range t.F32 {
				t.F32[i] = math.Float32frombits(binary.LittleEndian.Uint32(elements[4*i:]))
			}
		case "I64":
			t.I64 = make([]int64, len(elements)/8)
			for i := range t.I64 {
				t.I64[i] = int64(binary.LittleEndian.Uint64(elements[8*i:]))
			}
		default:
			return nil, fmt.Errorf("safetensors: tensor %q: dtype %q, want F32 or I64", name, a.DType)
		}
		out[name] = t
	}
	return out, nil
}
