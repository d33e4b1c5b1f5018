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
	binTokenBytes  = 2
)

// binLayout is where the tokens of a .bin file lie.
type binLayout struct {
	start  int64 // bytes before the first token
	tokens int64
}

// parseBin reads the layout from the first bytes of a file (up to binHeaderBytes of them) and its size.
func parseBin(head []byte, size int64) (binLayout, error) {
	if size%binTokenBytes != 0 {
		return binLayout{}, fmt.Errorf("%d bytes is an odd size: a .bin file holds uint16 tokens of 2 bytes each; was it cut off, or is it something else?", size)
	}
	if len(head) < 4 {
		return binLayout{tokens: size / binTokenBytes}, nil
	}
	switch magic := binary.LittleEndian.Uint32(head); magic {
	case binMagic:
	case binMagicUint32:
		return binLayout{}, fmt.Errorf("an llm.c file of uint32 tokens (magic %d): only uint16 tokens are read; write it with the gpt-2 tokenizer", magic)
	default:
		return binLayout{tokens: size / binTokenBytes}, nil
	}
	if len(head) < binHeaderBytes || size < binHeaderBytes {
		return binLayout{}, fmt.Errorf("the llm.c header is cut off: %d of %d bytes", size, binHeaderBytes)
	}
	if v := int32(binary.LittleEndian.Uint32(head[4:])); v != binVersion {
		return binLayout{}, fmt.Errorf("an llm.c file of version %d: version %d is known", v, binVersion)
	}
	n := int64(int32(binary.LittleEndian.Uint32(head[8:])))
	if have := (size - binHeaderBytes) / binTokenBytes; n < 0 || n != have {
		return binLayout{}, fmt.Errorf("the llm.c header announces %d tokens and the file holds %d: it was cut off or written by something else", n, have)
	}
	return binLayout{start: binHeaderBytes, tokens: n}, nil
}
