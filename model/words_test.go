package model

import (
	"encoding/binary"
	"math"
)

func putWords(dst []byte, words []uint32) {
	for i, w := range words {
		binary.NativeEndian.PutUint32(dst[4*i:], w)
	}
}

func getFloat(b []byte) float32 { return math.Float32frombits(binary.NativeEndian.Uint32(b)) }
