package checkpoint

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// The safetensors format: the header's length (u64, little-endian), a JSON header, then the elements.

// maxHeader is the largest header that is read; the format's own limit is 100 MB.
const maxHeader = 100 << 20

// metadata is the member of the header that names no tensor.
const metadata = "__metadata__"

// Array is one tensor of a safetensors file.
type Array struct {
	DType string   `json:"dtype"`
	Shape []int64  `json:"shape"`
	Range [2]int64 `json:"data_offsets"` // bytes, from the end of the header
}

// widths are the sizes of an element of the types that are known.
var widths = map[string]int{"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1}

// Width is the size of an element in bytes; 0 for a type that is unknown.
func Width(dtype string) int { return widths[dtype] }

// elements is the product of a shape, at most limit.
func elements(shape []int64, limit int64) (int64, error) {
	n := int64(1)
	for _, s := range shape {
		if s < 0 || s > 0 && n > limit/s {
			return 0, fmt.Errorf("shape %v has more than %d elements", shape, limit)
		}
		n *= s
	}
	return n, nil
}

// EncodeHeader is the bytes before the elements of a file. Arrays follow each other in the order of their offsets.
func EncodeHeader(arrays map[string]Array, about map[string]string) ([]byte, error) {
	header := make(map[string]any, len(arrays)+1)
	for name, a := range arrays {
		header[name] = a
	}
	if len(about) > 0 {
		header[metadata] = about
	}
	text, err := json.Marshal(header)
	if err != nil {
		return nil, fmt.Errorf("safetensors: header: %w", err)
	}
	for (len(text)+8)%64 != 0 { // so that elements are aligned in a mapped file
		text = append(text, ' ')
	}
	if len(text) > maxHeader {
		return nil, fmt.Errorf("safetensors: header of %d bytes, more than %d", len(text), maxHeader)
	}
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...), nil
}

// File is an open safetensors file.
type File struct {
	Arrays map[string]Array
	About  map[string]string // the header's metadata
	Start  int64             // where the elements begin
	r      io.ReaderAt
}

// OpenArrays reads the header of a file of so many bytes. Arrays that do not fit the file, overlap, or are not as large as their
// shapes are errors.
func OpenArrays(r io.ReaderAt, size int64) (*File, error) {
	var length [8]byte
	if _, err := io.ReadFull(io.NewSectionReader(r, 0, size), length[:]); err != nil {
		return nil, fmt.Errorf("safetensors: %d bytes, too short for a header: %w", size, noEOF(err))
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxHeader || int64(n) > size-8 {
		return nil, fmt.Errorf("safetensors: header of %d bytes in a file of %d", n, size)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(io.NewSectionReader(r, 8, int64(n)), text); err != nil {
		return nil, fmt.Errorf("safetensors: header: %w", noEOF(err))
	}
	f := &File{Start: 8 + int64(n), r: r}
	var err error
	if f.Arrays, f.About, err = parseHeader(text, size-f.Start); err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	return f, nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// parseHeader decodes a header in front of so many bytes of elements.
func parseHeader(text []byte, body int64) (map[string]Array, map[string]string, error) {
	var header map[string]json.RawMessage
	if err := json.Unmarshal(text, &header); err != nil {
		return nil, nil, fmt.Errorf("header: %w", err)
	}
	arrays, about := make(map[string]Array, len(header)), map[string]string{}
	for name, raw := range header {
		if name == metadata {
			if err := json.Unmarshal(raw, &about); err != nil {
				return nil, nil, fmt.Errorf("header: %s: %w", metadata, err)
			}
			continue
		}
		var a Array
		var exact struct { // an array of Go takes any number of values
			Range []json.RawMessage `json:"data_offsets"`
		}
		if err := errors.Join(json.Unmarshal(raw, &a), json.Unmarshal(raw, &exact)); err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		if len(exact.Range) != len(a.Range) {
			return nil, nil, fmt.Errorf("tensor %q: data_offsets has %d values, want %d", name, len(exact.Range), len(a.Range))
		}
		if err := a.check(body); err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		arrays[name] = a
	}
	names := slices.SortedFunc(maps.Keys(arrays), func(a, b string) int {
		return cmp.Or(cmp.Compare(arrays[a].Range[0], arrays[b].Range[0]), cmp.Compare(arrays[a].Range[1], arrays[b].Range[1]))
	})
	for i := 1; i < len(names); i++ {
		if arrays[names[i]].Range[0] < arrays[names[i-1]].Range[1] {
			return nil, nil, fmt.Errorf("tensors %q and %q overlap", names[i-1], names[i])
		}
	}
	return arrays, about, nil
}

func (a Array) check(body int64) error {
	lo, hi := a.Range[0], a.Range[1]
	if lo < 0 || hi < lo || hi > body {
		return fmt.Errorf("data_offsets %v in %d bytes of elements", a.Range, body)
	}
	width := Width(a.DType)
	if width == 0 {
		return fmt.Errorf("dtype %q is unknown", a.DType)
	}
	n, err := elements(a.Shape, body)
	if err != nil {
		return err
	}
	if n*int64(width) != hi-lo {
		return fmt.Errorf("shape %v of %s needs %d bytes, there are %d", a.Shape, a.DType, n*int64(width), hi-lo)
	}
	return nil
}

// Bytes of an array.
func (a Array) Bytes() int64 { return a.Range[1] - a.Range[0] }

// Read fills dst with bytes of an array, from a number of bytes on.
func (f *File) Read(dst []byte, name string, from int64) error {
	a, ok := f.Arrays[name]
	if !ok {
		return fmt.Errorf("no tensor %q", name)
	}
	if from < 0 || from+int64(len(dst)) > a.Bytes() {
		return fmt.Errorf("tensor %q: bytes %d to %d of %d", name, from, from+int64(len(dst)), a.Bytes())
	}
	if n, err := f.r.ReadAt(dst, f.Start+a.Range[0]+from); n < len(dst) {
		return fmt.Errorf("tensor %q: %w", name, noEOF(err))
	}
	return nil
}
