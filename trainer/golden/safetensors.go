package golden

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

// Tensor is an array of a safetensors file. One of the slices holds the elements, row-major.
type Tensor struct {
	Shape []int
	F32   []float32
	I64   []int64
}

// headerMax is the largest header that is read; the format's own limit is 100 MB.
const headerMax = 16 << 20

// ParseSafetensors reads a whole file of the safetensors format: a header length (u64), a JSON header, the elements.
// Arrays of types other than F32 and I64, and arrays that do not fit the file, are errors.
func ParseSafetensors(data []byte) (map[string]Tensor, error) {
	if len(data) < 8 {
		return nil, fmt.Errorf("safetensors: %d bytes, too short for a header", len(data))
	}
	n := binary.LittleEndian.Uint64(data)
	body := data[8:]
	if n > headerMax || n > uint64(len(body)) {
		return nil, fmt.Errorf("safetensors: header of %d bytes in a file of %d", n, len(data))
	}
	var header map[string]json.RawMessage
	if err := json.Unmarshal(body[:n], &header); err != nil {
		return nil, fmt.Errorf("safetensors: header: %w", err)
	}
	out := make(map[string]Tensor, len(header))
	for name, raw := range header {
		if name == "__metadata__" {
			continue
		}
		t, err := parseTensor(raw, body[n:])
		if err != nil {
			return nil, fmt.Errorf("safetensors: tensor %q: %w", name, err)
		}
		out[name] = t
	}
	return out, nil
}

func parseTensor(raw json.RawMessage, data []byte) (Tensor, error) {
	var h struct {
		DType   string   `json:"dtype"`
		Shape   []int    `json:"shape"`
		Offsets []uint64 `json:"data_offsets"`
	}
	if err := json.Unmarshal(raw, &h); err != nil {
		return Tensor{}, err
	}
	if len(h.Offsets) != 2 || h.Offsets[0] > h.Offsets[1] || h.Offsets[1] > uint64(len(data)) {
		return Tensor{}, fmt.Errorf("data_offsets %v in %d bytes of data", h.Offsets, len(data))
	}
	data = data[h.Offsets[0]:h.Offsets[1]]
	width := map[string]int{"F32": 4, "I64": 8}[h.DType]
	if width == 0 {
		return Tensor{}, fmt.Errorf("dtype %q, want F32 or I64", h.DType)
	}
	elements := 1
	for _, s := range h.Shape {
		if s < 0 || s > 0 && elements > len(data)/s {
			return Tensor{}, fmt.Errorf("shape %v in %d bytes", h.Shape, len(data))
		}
		elements *= s
	}
	if elements*width != len(data) {
		return Tensor{}, fmt.Errorf("shape %v of %s needs %d bytes, there are %d", h.Shape, h.DType, elements*width, len(data))
	}
	t := Tensor{Shape: h.Shape}
	for i := range elements {
		if width == 4 {
			t.F32 = append(t.F32, math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))
		} else {
			t.I64 = append(t.I64, int64(binary.LittleEndian.Uint64(data[8*i:])))
		}
	}
	return t, nil
}
