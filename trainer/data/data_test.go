package data

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"boost-tui/docs"
)

func write(t *testing.T, path string, b []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func tokens(ids ...uint16) []byte {
	var b []byte
	for _, id := range ids {
		b = binary.LittleEndian.AppendUint16(b, id)
	}
	return b
}

func llmc(magic, version, n int32, body []byte) []byte {
	b := make([]byte, binHeaderBytes)
	for i, v := range []int32{magic, version, n} {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(v))
	}
	return append(b, body...)
}

func all(t *testing.T, s *Source) []int32 {
	t.Helper()
	dst := make([]int32, s.Tokens())
	if err := s.Read(dst, 0); err != nil {
		t.Fatal(err)
	}
	return dst
}

func TestReads(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/folder/b.txt", []byte("BB"))
	write(t, dir+"/folder/a/z.txt", []byte("az"))
	write(t, dir+"/folder/empty.txt", nil)
	write(t, dir+"/folder/.git/config", []byte("hidden"))
	write(t, dir+"/outside.txt", []byte("outside"))
	if err := os.Symlink(dir+"/outside.txt", dir+"/folder/link.txt"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, dir+"/folder/up"); err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/shards/1.bin", llmc(binMagic, 1, 2, tokens(7, 8)))
	write(t, dir+"/shards/2.bin", tokens(9))
	for name, c := range map[string]struct {
		path string
		want []int32
	}{
		"text":            {write(t, dir+"/t.txt", []byte("a\x00\xff")), []int32{'a', 0, 255}},
		"folder":          {dir + "/folder", []int32{'a', 'z', 'B', 'B'}},
		"nanoGPT":         {write(t, dir+"/n.bin", tokens(1, 50256, 3)), []int32{1, 50256, 3}},
		"llm.c":           {write(t, dir+"/l.bin", llmc(binMagic, 1, 3, tokens(5, 6, 65535))), []int32{5, 6, 65535}},
		"folder of .bin":  {dir + "/shards", []int32{7, 8, 9}},
		"named by a link": {dir + "/folder/link.txt", []int32{'o', 'u', 't', 's', 'i', 'd', 'e'}},
	} {
		s, err := Open(c.path, 1<<16, 1)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := all(t, s); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		for at := range c.want { // every stretch, across file boundaries
			for n := 0; at+n <= len(c.want); n++ {
				dst := make([]int32, n)
				if err := s.Read(dst, int64(at)); err != nil || !slices.Equal(dst, c.want[at:at+n]) {
					t.Errorf("%s: %d tokens at %d: %v, %v", name, n, at, dst, err)
				}
			}
		}
		if err := s.Read(make([]int32, 2), s.Tokens()-1); err == nil {
			t.Errorf("%s: read beyond the end", name)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/mixed/a.txt", []byte("text"))
	write(t, dir+"/mixed/b.bin", tokens(1))
	os.Mkdir(dir+"/hollow", 0o755)
	for name, c := range map[string]struct {
		path  string
		vocab int
		want  []string
	}{
		"missing":       {dir + "/none.txt", 256, []string{"none.txt", "no such file"}},
		"empty":         {write(t, dir+"/e.txt", nil), 256, []string{"e.txt is empty"}},
		"short":         {write(t, dir+"/s.txt", []byte("ab")), 256, []string{"s.txt holds 2 tokens", "takes 4"}},
		"hollow folder": {dir + "/hollow", 256, []string{"hollow holds no regular files"}},
		"mixed folder":  {dir + "/mixed", 256, []string{"1 .bin file", "name one kind"}},
		"device":        {"/dev/null", 256, []string{"/dev/null", "not a regular file"}},
		"odd":           {write(t, dir+"/odd.bin", []byte{1, 2, 3}), 256, []string{"odd.bin", "odd size"}},
		"uint32":        {write(t, dir+"/u.bin", llmc(binMagicUint32, 7, 4, bytes.Repeat([]byte{1, 0, 1, 0}, 4))), 300, []string{"token 65537 at position 0"}},
		"version":       {write(t, dir+"/v.bin", llmc(binMagic, 2, 1, tokens(1))), 256, []string{"version 2"}},
		"cut off":       {write(t, dir+"/c.bin", llmc(binMagic, 1, 9, tokens(1))), 256, []string{"announces 9 tokens", "holds 1"}},
		"header alone":  {write(t, dir+"/h.bin", llmc(binMagic, 1, 0, nil)[:100]), 256, []string{"header is cut off"}},
		"negative":      {write(t, dir+"/neg.bin", llmc(binMagic, 1, -1, nil)), 256, []string{"announces -1"}},
		"vocabulary":    {write(t, dir+"/big.bin", tokens(1, 2, 300, 4)), 256, []string{"big.bin", "token 300 at position 2", "vocabulary of 256"}},
		"small vocab":   {write(t, dir+"/latin.txt", []byte("abc\xe9")), 128, []string{"latin.txt", "token 233 at position 3"}},
	} {
		s, err := Open(c.path, c.vocab, 4)
		if err == nil {
			t.Errorf("%s: opened %d tokens", name, s.Tokens())
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q does not say %q", name, err, w)
			}
		}
	}
}

func TestUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	path := write(t, t.TempDir()+"/secret.txt", []byte("abcdef"))
	os.Chmod(path, 0)
	if _, err := Open(path, 256, 2); err == nil || !strings.Contains(err.Error(), "permission") {
		t.Errorf("unreadable: %v", err)
	}
}

func TestFilesThatChange(t *testing.T) {
	path := write(t, t.TempDir()+"/t.txt", bytes.Repeat([]byte("x"), 100))
	s, err := Open(path, 256, 10)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.Truncate(path, 50); err != nil {
		t.Fatal(err)
	}
	if err := s.Read(make([]int32, 10), 60); err == nil || !strings.Contains(err.Error(), "must not change") {
		t.Errorf("truncated: %v", err)
	}
	if err := s.Read(make([]int32, 10), 10); err != nil {
		t.Errorf("what is still there: %v", err)
	}
}

func TestManyFiles(t *testing.T) {
	dir := t.TempDir()
	var want []int32
	for i := range keptOpen + 20 {
		write(t, filepath.Join(dir, string(rune('a'+i/26)), string(rune('a'+i%26))), []byte{byte(i), byte(i + 1)})
		want = append(want, int32(i), int32(i+1))
	}
	s, err := Open(dir, 256, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := all(t, s); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func TestEmbeddedDocs(t *testing.T) {
	s, err := OpenFS(docs.FS, "embedded", 256, 129)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	all(t, s)
}

func TestBatchesDependOnSeedAndStepOnly(t *testing.T) {
	text := make([]byte, 10_000)
	for i := range text {
		text[i] = byte(i * i >> 3)
	}
	open := func() *Source {
		s, err := OpenFS(fstest.MapFS{"a": {Data: text}}, "m", 256, 17)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a := &Batches{Source: stream(t, open(), 16), Seed: 1, Seq: 16, Samples: 6}
	b := &Batches{Source: stream(t, open(), 16), Seed: 1, Seq: 16, Samples: 3}
	x, y := make([]int32, 6*17), make([]int32, 3*17)
	for _, step := range []int{5, 1, 3} { // in any order
		if err := a.Fill(x, step); err != nil {
			t.Fatal(err)
		}
		if err := b.Fill(y, step); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(x[:len(y)], y) {
			t.Errorf("step %d: a sample depends on how many there are", step)
		}
		for i := range 6 {
			_, at := a.Start(step, i)
			if at < 0 || at+17 > int64(len(text)) {
				t.Errorf("sample %d starts at %d", i, at)
			}
			if x[i*17] != int32(text[at]) {
				t.Errorf("sample %d is not what lies at %d", i, at)
			}
		}
	}
	if err := a.Fill(y, 1); err == nil {
		t.Error("a buffer of the wrong size is accepted")
	}
	if c := (&Batches{Source: a.Source, Seed: 2, Seq: 16}); begin(c, 1, 0) == begin(a, 1, 0) && begin(c, 1, 1) == begin(a, 1, 1) {
		t.Error("the seed does not matter")
	}
}

// Draws must cover the data evenly, its first and last possible start included.
func TestBatchesCover(t *testing.T) {
	s, err := OpenFS(fstest.MapFS{"a": {Data: make([]byte, 20)}}, "m", 256, 11)
	if err != nil {
		t.Fatal(err)
	}
	b := &Batches{Source: stream(t, s, 10), Seed: 3, Seq: 10}
	var seen [10]int
	const draws = 10_000
	for i := range draws {
		seen[begin(b, 1+i/8, i%8)]++
	}
	for at, n := range seen {
		if n < draws/len(seen)*8/10 || n > draws/len(seen)*12/10 {
			t.Errorf("start %d was drawn %d times of %d", at, n, draws)
		}
	}
}

func FuzzParseBin(f *testing.F) {
	f.Add(llmc(binMagic, 1, 1, nil), int64(binHeaderBytes+2), uint8(0))
	f.Add([]byte{1, 2}, int64(2), uint8(Uint32))
	f.Fuzz(func(t *testing.T, head []byte, size int64, said uint8) {
		if size < 0 {
			return
		}
		head = head[:min(int64(len(head)), size, binHeaderBytes)]
		l, err := parseBin(head, size, Format(said%3))
		if err == nil && (l.tokens < 0 || l.start+l.tokens*l.format.bytes() != size) {
			t.Errorf("size %d: %+v", size, l)
		}
	})
}
