package data

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// stream is a source as one stream.
func stream(t testing.TB, s *Source, seq int) *Stream {
	t.Helper()
	st, err := (&Data{o: Options{Seq: seq}, sources: []*Source{s}, weights: []float64{1}}).All()
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func begin(b *Batches, step, index int) int64 {
	_, at := b.Start(step, index)
	return at
}

// TestOrderStays: what one source gives is a function of seed, step, sample and length that may never change.
func TestOrderStays(t *testing.T) {
	s, err := OpenFS(fstest.MapFS{"a": {Data: make([]byte, 5000)}, "b": {Data: make([]byte, 7000)}}, "m", 256, 129)
	if err != nil {
		t.Fatal(err)
	}
	b := &Batches{Source: stream(t, s, 128), Seed: 1, Seq: 128}
	for step := 1; step < 100; step++ {
		for i := range 8 {
			want, _ := bits.Mul64(random(1, uint64(step), uint64(i)), uint64(12000-128))
			if got := begin(b, step, i); got != int64(want) {
				t.Fatalf("step %d, sample %d: %d, want %d", step, i, got, want)
			}
		}
	}
	if got := []int64{begin(b, 1, 0), begin(b, 1, 1), begin(b, 100, 7)}; fmt.Sprint(got) != "[5781 4240 6831]" {
		t.Errorf("%v", got)
	}
}

func parts(t testing.TB, o Options, p ...Part) *Data {
	t.Helper()
	d, err := OpenParts(p, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// filled is a file of a byte, so many times.
func filled(t *testing.T, dir, name string, b byte, n int) string {
	return write(t, filepath.Join(dir, name), slices.Repeat([]byte{b}, n))
}

func TestWeights(t *testing.T) {
	dir := t.TempDir()
	d := parts(t, Options{Vocab: 256, Seq: 8}, Part{filled(t, dir, "a", 1, 100), 0.7}, Part{filled(t, dir, "b", 2, 10000), 0.2}, Part{filled(t, dir, "c", 3, 9), 0.1})
	st, err := d.All()
	if err != nil {
		t.Fatal(err)
	}
	b := &Batches{Source: st, Seed: 5, Seq: 8, Samples: 1000}
	tokens, counts := make([]int32, 9000), [4]float64{}
	for step := 1; step <= 10; step++ {
		if err := b.Fill(tokens, step); err != nil {
			t.Fatal(err)
		}
		for i := range 1000 {
			counts[tokens[9*i]] += 1e-4
		}
	}
	for i, want := range []float64{0.7, 0.2, 0.1} {
		if math.Abs(counts[i+1]-want) > 0.02 {
			t.Errorf("part %d: %v of the samples, want %v", i, counts[i+1], want)
		}
	}
	// A data-parallel rank that takes the second half of a step takes what is there when one takes all.
	half := &Batches{Source: st, Seed: 5, Seq: 8, First: 500, Samples: 500}
	second := make([]int32, 4500)
	if err := half.Fill(second, 10); err != nil || !slices.Equal(second, tokens[4500:]) {
		t.Errorf("the order depends on who takes it: %v", err)
	}
}

func TestSeparated(t *testing.T) {
	dir := t.TempDir()
	for i, n := range []int{40, 3, 100, 8, 9} {
		filled(t, dir, fmt.Sprint(i), byte(i), n)
	}
	d := parts(t, Options{Vocab: 256, Seq: 8, Separate: true}, Part{dir, 1})
	st, err := d.All()
	if err != nil {
		t.Fatal(err)
	}
	if n := st.parts[0].starts(); n != 32+92+1 {
		t.Errorf("%d starts", n)
	}
	b := &Batches{Source: st, Seed: 5, Seq: 8, Samples: 2000}
	tokens, seen := make([]int32, 9*2000), map[int32]int{}
	if err := b.Fill(tokens, 1); err != nil {
		t.Fatal(err)
	}
	for i := range 2000 {
		sample := tokens[9*i:][:9]
		if slices.Min(sample) != slices.Max(sample) {
			t.Fatalf("sample %d reaches over files: %v", i, sample)
		}
		seen[sample[0]]++
	}
	if len(seen) != 3 || seen[4] == 0 || seen[2] < seen[0] {
		t.Errorf("%v", seen)
	}
}

func TestHeldOut(t *testing.T) {
	dir := t.TempDir()
	text := make([]byte, 2000)
	for i := range text {
		text[i] = byte(i / 10)
	}
	d := parts(t, Options{Vocab: 256, Seq: 8}, Part{write(t, dir+"/a", text), 1})
	train, held, err := d.Split()
	if err != nil {
		t.Fatal(err)
	}
	tokens := make([]int32, 9*5000)
	for _, x := range []struct {
		st     *Stream
		lo, hi int32
	}{{train, 0, 189}, {held, 190, 199}} {
		if err := (&Batches{Source: x.st, Seed: 1, Seq: 8, Samples: 5000}).Fill(tokens, 1); err != nil {
			t.Fatal(err)
		}
		if lo, hi := slices.Min(tokens), slices.Max(tokens); lo != x.lo || hi != x.hi {
			t.Errorf("tokens %d to %d, want %d to %d", lo, hi, x.lo, x.hi)
		}
	}
	short := parts(t, Options{Vocab: 256, Seq: 150}, Part{write(t, dir+"/b", text), 1})
	if _, _, err := short.Split(); err == nil || !strings.Contains(err.Error(), "held out, holds 100 tokens") || !strings.Contains(err.Error(), "eval-data") {
		t.Errorf("%v", err)
	}
}

// array is a .npy file.
func array(descr, shape string, body []byte) []byte {
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
	for (len(text)+11)%64 != 0 {
		text += " "
	}
	text += "\n"
	head := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(text)))
	return append(append(head, text...), body...)
}

func TestFormats(t *testing.T) {
	dir := t.TempDir()
	four := []byte{1, 0, 0, 0, 2, 0, 1, 0, 3, 0, 0, 0}
	described := write(t, dir+"/d.bin", four)
	write(t, dir+"/d.bin.json", []byte(`{"dtype": "uint32", "tokenizer": "x"}`))
	if err := os.Mkdir(dir+"/f", 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/f/a.bin", tokens(7, 8))
	write(t, dir+"/f/b.bin", four)
	write(t, dir+"/f/b.bin.json", []byte(`{"dtype": "uint32"}`))
	for name, c := range map[string]struct {
		path, dtype string
		want        []int32
	}{
		"uint16":          {write(t, dir+"/u.bin", four), "uint16", []int32{1, 0, 2, 1, 3, 0}},
		"uint32":          {write(t, dir+"/v.bin", four), "uint32", []int32{1, 65538, 3}},
		"auto":            {write(t, dir+"/w.bin", four), "auto", []int32{1, 0, 2, 1, 3, 0}},
		"described":       {described, "auto", []int32{1, 65538, 3}},
		"said wins":       {described, "uint16", []int32{1, 0, 2, 1, 3, 0}},
		"folder":          {dir + "/f", "auto", []int32{7, 8, 1, 65538, 3}},
		"llm.c of uint32": {write(t, dir+"/l.bin", llmc(binMagicUint32, 7, 3, four)), "auto", []int32{1, 65538, 3}},
		"numpy uint16":    {write(t, dir+"/a.npy", array("<u2", "(2, 3)", four)), "auto", []int32{1, 0, 2, 1, 3, 0}},
		"numpy uint32":    {write(t, dir+"/b.npy", array("<u4", "(3,)", four)), "auto", []int32{1, 65538, 3}},
		"numpy uint8":     {write(t, dir+"/c.npy", array("|u1", "(12,)", four)), "auto", []int32{1, 0, 0, 0, 2, 0, 1, 0, 3, 0, 0, 0}},
	} {
		s, err := open(c.path, 1<<17, 2, c.dtype)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := all(t, s); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		s.Close()
	}
	for name, c := range map[string]struct{ path, dtype, want string }{
		"odd":       {write(t, dir+"/o.bin", four[:10]), "uint32", "uint32 tokens of 4 bytes"},
		"beyond":    {write(t, dir+"/y.bin", []byte{1, 0, 0, 0, 255, 255, 255, 255}), "uint32", "token 4294967295 at position 1"},
		"float":     {write(t, dir+"/f.npy", array("<f4", "(3,)", four)), "auto", `type "<f4"`},
		"cut":       {write(t, dir+"/k.npy", array("<u4", "(9,)", four)), "auto", "announces shape (9,)"},
		"text":      {write(t, dir+"/t.npy", []byte("some text that is no array")), "auto", "no array of numpy"},
		"header":    {write(t, dir+"/h.npy", array("<u4", "(3,)", nil)[:40]), "auto", "cut off"},
		"described": {write(t, dir+"/s.bin", four), "auto", `type "float"`},
	} {
		if name == "described" {
			write(t, dir+"/s.bin.json", []byte(`{"dtype": "float"}`))
		}
		if _, err := open(c.path, 1<<17, 2, c.dtype); err == nil || !strings.Contains(err.Error(), strings.Replace(c.want, "no array", "not an array", 1)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// A document ends with a token that says so, or with its file, and no sample reaches from one into the next.
func TestDocumentsInsideFiles(t *testing.T) {
	dir := t.TempDir()
	const end = 300
	tokens := func(lengths ...int) (raw []byte) { // of documents; each ends with the token, but for the last
		for i, n := range lengths {
			for k := range n {
				id := uint16(i)
				if k == n-1 && i < len(lengths)-1 {
					id = end
				}
				raw = binary.LittleEndian.AppendUint16(raw, id)
			}
		}
		return raw
	}
	path := write(t, dir+"/d.bin", tokens(3, 5, 4, 1, 70000, 6)) // the long one spans what is read at once
	for _, c := range []struct {
		o    Options
		want int64 // places where a sample of 4 + 1 tokens may begin
	}{
		{Options{}, 70019 - 4}, {Options{Separate: true}, 70019 - 4}, {Options{Ends: []int32{end}}, 70019 - 4},
		{Options{Separate: true, Ends: []int32{end}}, 1 + 69996 + 2}, {Options{Separate: true, Ends: []int32{end, 7}}, 1 + 69996 + 2},
	} {
		c.o.Vocab, c.o.Seq = 512, 4
		d := parts(t, c.o, Part{path, 1})
		s, err := d.All()
		if err != nil {
			t.Fatal(err)
		}
		p := &s.parts[0]
		if p.starts() != c.want {
			t.Errorf("%+v: %d places, want %d", c.o, p.starts(), c.want)
		}
		if len(c.o.Ends) == 0 || !c.o.Separate {
			continue
		}
		sample := make([]int32, 5)
		for i := range int64(50) {
			if err := p.source.Read(sample, p.start(uint64(i)<<58+uint64(i)*12345)); err != nil {
				t.Fatal(err)
			}
			if at := slices.Index(sample, end); at >= 0 && at < 4 {
				t.Errorf("%v reaches beyond the end of a document", sample)
			}
		}
	}
	none := parts(t, Options{Vocab: 512, Seq: 100_000, Separate: true, Ends: []int32{end}}, Part{write(t, dir+"/e.bin", tokens(90_000, 90_000)), 1})
	if _, err := none.All(); err == nil || !strings.Contains(err.Error(), "every document is shorter than a sample of 100001 tokens") {
		t.Errorf("%v", err)
	}
}

func TestPartsRefused(t *testing.T) {
	dir := t.TempDir()
	a, short := filled(t, dir, "a", 1, 100), filled(t, dir, "short", 1, 8)
	if _, err := OpenParts([]Part{{a, 1}, {short, 1}}, Options{Vocab: 256, Seq: 8}); err == nil || !strings.Contains(err.Error(), "short holds 8 tokens, and one sample takes 9") {
		t.Errorf("%v", err)
	}
	if err := os.Mkdir(dir+"/f", 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		filled(t, dir+"/f", fmt.Sprint(i), 1, 5)
	}
	d := parts(t, Options{Vocab: 256, Seq: 8, Separate: true}, Part{dir + "/f", 1})
	if _, err := d.All(); err == nil || !strings.Contains(err.Error(), "25 tokens in 5 files, and every document is shorter than a sample of 9 tokens") {
		t.Errorf("%v", err)
	}
}

func FuzzParseArray(f *testing.F) {
	f.Add(array("<u4", "(3,)", make([]byte, 12)))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := parseArray(data, int64(len(data)))
		if err == nil && (l.tokens < 0 || l.start+l.tokens*l.format.bytes() > int64(len(data))) {
			t.Errorf("%d bytes: %+v", len(data), l)
		}
	})
}
