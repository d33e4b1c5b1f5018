package data

import (
	"encoding/binary"
	"strings"
	"testing"

	"boost-tui/experiment"
)

// numbers writes ids in a width of bytes, little-endian.
func numbers(width, n int, id func(i int) uint64) []byte {
	var out []byte
	for i := range n {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], id(i))
		out = append(out, b[:width]...)
	}
	return out
}

// TestAmbiguousWidth: what only looks like uint16 is refused until somebody says its type, and what is uint16 is not.
func TestAmbiguousWidth(t *testing.T) {
	dir := t.TempDir()
	id := func(i int) uint64 { return 1 + uint64(i*7919)%50000 }
	large := func(i int) uint64 { return 1 + uint64(i*7919)%70000 } // a few of them take more than 16 bits
	for _, c := range []struct {
		name, dtype string
		content     []byte
		tokens      int64
		want        string // of the error; empty: none
	}{
		{"uint32", experiment.DataAuto, numbers(4, 4000, id), 0, "--data-dtype uint32"},
		{"uint32 in part large", experiment.DataAuto, numbers(4, 40000, large), 0, "--data-dtype uint32"},
		{"64 bits", experiment.DataAuto, numbers(8, 4000, id), 0, "64-bit tokens"},
		{"said uint32", experiment.DataUint32, numbers(4, 4000, id), 4000, ""},
		{"said uint16", experiment.DataUint16, numbers(4, 4000, id), 8000, ""},
		{"uint16", experiment.DataAuto, numbers(2, 4000, id), 4000, ""},
		{"all zeros", experiment.DataAuto, make([]byte, 8000), 4000, ""},
		{"padded", experiment.DataAuto, append(numbers(2, 4000, id), make([]byte, 100_000)...), 54000, ""},
	} {
		path := write(t, dir+"/"+strings.ReplaceAll(c.name, " ", "-")+".bin", c.content)
		s, err := open(path, 70000, 9, c.dtype)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", c.name, err, c.want)
			}
			continue
		}
		if err != nil || s.Tokens() != c.tokens {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if assumed := s.files[0].assumed; assumed != (c.dtype == experiment.DataAuto) {
			t.Errorf("%s: assumed %v", c.name, assumed)
		}
		s.Close()
	}
}

// TestWideArrays: ids in 64 bits are taken where all are within the vocabulary.
func TestWideArrays(t *testing.T) {
	dir := t.TempDir()
	eight := func(ids ...int64) []byte { return numbers(8, len(ids), func(i int) uint64 { return uint64(ids[i]) }) }
	for _, descr := range []string{"<i8", "<u8"} {
		s, err := open(write(t, dir+"/"+descr[1:]+".npy", array(descr, "(4,)", eight(1, 2, 70000, 3))), 70001, 4, "auto")
		if err != nil {
			t.Fatal(err)
		}
		got := make([]int32, 4)
		if err := s.Read(got, 0); err != nil || got[2] != 70000 || got[3] != 3 {
			t.Errorf("%v, %v", got, err)
		}
		s.Close()
	}
	for want, content := range map[string][]byte{
		"token 4294967297 at position 1 is outside the vocabulary": array("<i8", "(3,)", eight(1, 1<<32+1, 2)),
		"token -1 at position 2 is negative":                       array("<i8", "(3,)", eight(1, 2, -1)),
		`type "<i2": uint8, uint16, uint32, int32, int64`:          array("<i2", "(12,)", eight(1, 2, 3)),
		`type ">u4": uint8`:                                        array(">u4", "(6,)", eight(1, 2, 3)),
	} {
		if _, err := open(write(t, dir+"/bad.npy", content), 512, 2, "auto"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
