package data

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"encoding/binary"
)

// sidecarSuffix ends the name of the file that describes a file of tokens: `{"dtype": "uint32"}`.
const sidecarSuffix = ".json"

// Bounds of what describes tokens.
const (
	maxSidecar = 64 << 10
	maxArray   = 64 << 10 // header of an array
)

// layout finds out where the tokens of a file lie.
func (s *Source) layout(path string, r reader, size int64) (binLayout, error) {
	head := make([]byte, min(maxArray, size))
	if !isArray(path) {
		head = head[:min(binHeaderBytes, size)]
	}
	if _, err := r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return binLayout{}, err
	}
	if isArray(path) {
		return parseArray(head, size)
	}
	said, known, err := formatOf(s.dtype)
	if err != nil {
		return binLayout{}, err
	}
	if !known {
		if said, err = s.described(path); err != nil {
			return binLayout{}, err
		}
	}
	l, err := parseBin(head, size, said)
	if err == nil && l.assumed {
		err = ambiguous(r, size)
	}
	return l, err
}

// wideSample is how many bytes are looked at in each of three places of a file that does not say its type.
const wideSample = 32 << 10

// ambiguous is an error where what would be read as uint16 looks like wider tokens: nearly every second number is 0, and the others are not. Nobody's tokens
// are like that, and a model would learn to predict the zeros.
func ambiguous(r io.ReaderAt, size int64) error {
	var zero, all [4]int // by position modulo 4
	sample := make([]byte, wideSample)
	for _, at := range []int64{0, size / 2 &^ 7, (size - wideSample) &^ 7} {
		if at < 0 {
			continue
		}
		n, err := r.ReadAt(sample, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		for i := range n / 2 {
			all[i%4]++
			if sample[2*i] == 0 && sample[2*i+1] == 0 {
				zero[i%4]++
			}
		}
	}
	mostly := func(i int) bool { return 10*zero[i] >= 9*all[i] }
	rarely := func(i int) bool { return 2*zero[i] < all[i] }
	switch {
	case all[3] < 2 || !mostly(1) || !mostly(3) || !rarely(0):
		return nil
	case mostly(2):
		return errors.New("it has no header, and of its numbers of 16 bits three in four are 0, as in a file of 64-bit tokens: write them as uint16, as uint32, or as an array (.npy)")
	case rarely(2):
		return errors.New("it has no header, and of its numbers of 16 bits every second one is 0, as in a file of uint32 tokens: say --data-dtype uint32, or uint16 if that is what they are")
	}
	return nil
}

// described is the format that the description beside a file says; Bytes: there is none.
func (s *Source) described(path string) (Format, error) {
	r, st, err := s.open(path + sidecarSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return Bytes, nil
	}
	if err != nil {
		return Bytes, err
	}
	defer r.Close()
	if st.Size() > maxSidecar {
		return Bytes, fmt.Errorf("%s of %d bytes is no description of tokens", path+sidecarSuffix, st.Size())
	}
	data := make([]byte, st.Size())
	if _, err := r.ReadAt(data, 0); err != nil && !errors.Is(err, io.EOF) {
		return Bytes, err
	}
	var d struct {
		DType string `json:"dtype"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return Bytes, fmt.Errorf("%s: %w", path+sidecarSuffix, err)
	}
	f, _, err := formatOf(d.DType)
	if err != nil {
		return Bytes, fmt.Errorf("%s: %w", path+sidecarSuffix, err)
	}
	return f, nil
}

// The format of numpy's arrays: magic, version, the header's length, and a Python dictionary.
var (
	arrayDType = regexp.MustCompile(`'descr': *'([^']*)'`)
	arrayOrder = regexp.MustCompile(`'fortran_order': *(True|False)`)
	arrayShape = regexp.MustCompile(`'shape': *\(([0-9, ]*)\)`)
)

// arrayTypes are the types of numbers that arrays may have: all are little-endian, and ids are within the vocabulary, which is verified.
const arrayTypes = "uint8, uint16, uint32, int32, int64 and uint64 of little-endian order"

// arrayFormat is the format of an array's type.
func arrayFormat(descr string) (Format, error) {
	switch descr {
	case "<u2":
		return Uint16, nil
	case "<u4", "<i4":
		return Uint32, nil
	case "<u8", "<i8": // what numpy makes of a list of numbers
		return Uint64, nil
	}
	return Bytes, fmt.Errorf("an array of type %q: %s are read", descr, arrayTypes)
}

// parseArray reads the layout of a .npy file from its first bytes. Tokens follow each other row by row.
func parseArray(head []byte, size int64) (binLayout, error) {
	const magic = "\x93NUMPY"
	if len(head) < 12 || string(head[:len(magic)]) != magic {
		return binLayout{}, errors.New("is not an array of numpy: its first bytes are others")
	}
	start, length := 10, int(binary.LittleEndian.Uint16(head[8:]))
	if head[6] > 1 {
		start, length = 12, int(binary.LittleEndian.Uint32(head[8:]))
	}
	if length < 0 || length > len(head)-start {
		return binLayout{}, fmt.Errorf("the array's header of %d bytes is cut off, or too long", length)
	}
	text := string(head[start : start+length])
	dtype, order, shape := arrayDType.FindStringSubmatch(text), arrayOrder.FindStringSubmatch(text), arrayShape.FindStringSubmatch(text)
	if dtype == nil || order == nil || shape == nil {
		return binLayout{}, errors.New("the array's header is damaged, or its type is a structure")
	}
	dims := strings.FieldsFunc(shape[1], func(r rune) bool { return r == ',' || r == ' ' })
	if order[1] == "True" && len(dims) > 1 {
		return binLayout{}, errors.New("the array lies column by column: write it with order C")
	}
	l := binLayout{start: int64(start + length), tokens: 1}
	if dtype[1] != "|u1" {
		f, err := arrayFormat(dtype[1])
		if err != nil {
			return l, err
		}
		l.format = f
	}
	have := (size - l.start) / l.format.bytes()
	for _, d := range dims {
		n, err := strconv.ParseInt(d, 10, 64)
		if err != nil || n > 0 && l.tokens > have/n {
			return l, fmt.Errorf("the array's header announces shape (%s) and the file holds %d tokens", shape[1], have)
		}
		l.tokens *= n
	}
	if l.tokens != have {
		return l, fmt.Errorf("the array's header announces shape (%s) and the file holds %d tokens", shape[1], have)
	}
	return l, nil
}
