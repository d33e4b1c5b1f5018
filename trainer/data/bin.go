package data

import (
	"encoding/binary"
	"fmt"
)

// The header of llm.c's data files (its dev/data/data_common.py): 256 little-endian int32, of which
// the first three are a magic number, a version and the number of tokens. nanoGPT writes no header.
const (
	binHeaderBytes = 256 * 4
	binMagic       = 20240520 // tokens are uint16 (GPT-2)
	binMagicUint32 = 20240801 // tokens are uint32 (Llama 3)
	binVersion     = 1
	binVersion32   = 7 // of files of uint32 tokens
)

// binLayout is where the tokens of a file lie.
type binLayout struct {
	format Format
	start  int64 // bytes before the first token
	tokens int64
	// assumed: nothing says the format.
	assumed bool
}

// parseBin reads the layout from the first bytes of a .bin file (up to binHeaderBytes of them) and its size. said is the type of its tokens, where
// the user or a description says it; else a header does, and without one they are uint16.
func parseBin(head []byte, size int64, said Format) (binLayout, error) {
	l := binLayout{format: Uint16}
	if said != Bytes {
		l.format = said
	}
	width := l.format.bytes()
	magic, version := uint32(0), int32(binVersion)
	if len(head) >= 4 {
		magic = binary.LittleEndian.Uint32(head)
	}
	switch {
	case magic == binMagic && said != Uint32:
		l.format, width = Uint16, 2
	case magic == binMagicUint32 && said != Uint16:
		l.format, width, version = Uint32, 4, binVersion32
	case size%width != 0:
		return l, fmt.Errorf("%d bytes is an odd size: a .bin file holds %s tokens of %d bytes each; was it cut off, or is it something else?", size, l.format, width)
	default:
		l.tokens, l.assumed = size/width, said == Bytes
		return l, nil
	}
	if len(head) < binHeaderBytes || size < binHeaderBytes {
		return binLayout{}, fmt.Errorf("the llm.c header is cut off: %d of %d bytes", size, binHeaderBytes)
	}
	if v := int32(binary.LittleEndian.Uint32(head[4:])); v != binVersion && v != version {
		return l, fmt.Errorf("an llm.c file of version %d: version %d is known", v, version)
	}
	n := int64(int32(binary.LittleEndian.Uint32(head[8:])))
	if have := (size - binHeaderBytes) / width; n < 0 || n != have || (size-binHeaderBytes)%width != 0 {
		return l, fmt.Errorf("the llm.c header announces %d tokens and the file holds %d: it was cut off or written by something else", n, have)
	}
	l.start, l.tokens = binHeaderBytes, n
	return l, nil
}
