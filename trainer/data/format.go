package data

import "fmt"

// Format is how the bytes of a source become tokens.
type Format uint8

// Formats.
const (
	Bytes  Format = iota // each byte is a token
	Uint16               // two bytes, little-endian
	Uint32               // four
	Uint64               // eight; of arrays alone
)

// bytes is the size of a token.
func (f Format) bytes() int64 {
	switch f {
	case Uint16:
		return 2
	case Uint32:
		return 4
	case Uint64:
		return 8
	}
	return 1
}

func (f Format) String() string { return [...]string{"bytes", "uint16", "uint32", "int64"}[f] }

// formatOf reads the name of a format of tokens; auto and nothing are none.
func formatOf(dtype string) (f Format, known bool, err error) {
	switch dtype {
	case "", "auto":
		return Bytes, false, nil
	case "uint16", "u2", "<u2":
		return Uint16, true, nil
	case "uint32", "u4", "<u4", "int32", "<i4": // ids are not negative
		return Uint32, true, nil
	}
	return Bytes, false, fmt.Errorf("tokens of type %q: uint16 and uint32 are read", dtype)
}
