package pack

import (
	"encoding/binary"
	"math"
)

// reader takes packed values off the front of a text. What does not fit makes it bad, and everything after that zero.
type reader struct {
	rest string
	bad  bool
}

func (r *reader) take(n int) string {
	if r.bad || n < 0 || n > len(r.rest) {
		r.bad = true
		return ""
	}
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

func (r *reader) byte() byte {
	if s := r.take(1); s != "" {
		return s[0]
	}
	return 0
}

// uvarint is binary.Uvarint on a text.
func (r *reader) uvarint() uint64 {
	var x uint64
	for i := range min(len(r.rest), binary.MaxVarintLen64) {
		b := r.rest[i]
		if i == binary.MaxVarintLen64-1 && b > 1 {
			break
		}
		x |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			r.rest = r.rest[i+1:]
			return x
		}
	}
	r.bad, r.rest = true, ""
	return 0
}

func (r *reader) varint() int64 {
	u := r.uvarint()
	x := int64(u >> 1)
	if u&1 != 0 {
		x = ^x
	}
	return x
}

func (r *reader) float() float64 {
	s := r.take(8)
	if s == "" {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64([]byte(s)))
}

func (r *reader) text() string {
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		r.bad = true
		return ""
	}
	return r.take(int(n))
}

// count is the number of elements that follow; ok is false for none at all (nil). Each takes at least a byte.
func (r *reader) count() (n int, ok bool) {
	u := r.uvarint()
	if u == 0 || r.bad {
		return 0, false
	}
	if u-1 > uint64(len(r.rest)) {
		r.bad = true
		return 0, false
	}
	return int(u - 1), true
}
