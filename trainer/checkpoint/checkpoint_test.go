package checkpoint

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"boost-tui/experiment"
)

// a matrix of 4x6 in two halves of columns, its moment in three stretches, and a vector of picked elements.
func shards() [][]Item {
	half := func(lo int) Part { return Part{RowHi: 4, ColLo: lo, ColHi: lo + 3, Count: 12} }
	stretch := func(from, n int64) Part { p := half(0); p.From, p.Count = from, n; return p }
	last := func(from, n int64) Part { p := half(3); p.From, p.Count = from, n; return p }
	pick := func(places ...int64) Part { return Part{ColHi: 5, RowHi: 1, Picks: places, Count: int64(len(places))} }
	matrix, vector := []int64{4, 6}, []int64{5}
	odd, even := pick(1, 3), pick(0, 2, 4)
	return [][]Item{
		{{"w", "F32", matrix, half(0)}, {"m", "F32", matrix, stretch(0, 5)}, {"v", "F32", vector, odd}, {"v.index", "I64", vector, odd}},
		{{"w", "F32", matrix, half(3)}, {"m", "F32", matrix, stretch(5, 7)}, {"v", "F32", vector, even}, {"v.index", "I64", vector, even}},
		{{"m", "F32", matrix, last(0, 7)}, {"m", "F32", matrix, last(7, 5)}},
		{},
	}
}

// number is the value of an element of a tensor: its place, and what it is of.
func number(name string, place int64) uint64 {
	return uint64(len(name))*1000 + uint64(name[0]) + uint64(place)
}

func put(dst []byte, i int64, width int, v uint64) {
	if width == 8 {
		binary.LittleEndian.PutUint64(dst[8*i:], v)
		return
	}
	binary.LittleEndian.PutUint32(dst[4*i:], uint32(v))
}

func columns(shape []int64) int { return int(shape[len(shape)-1]) }

// write makes a checkpoint of a step, up to its name.
func write(t testing.TB, dir string, step int) (world int) {
	t.Helper()
	tmp, err := Begin(dir, step)
	if err != nil {
		t.Fatal(err)
	}
	all := shards()
	for rank, items := range all {
		l, err := NewLayout(items)
		if err != nil {
			t.Fatal(err)
		}
		body := make([]byte, l.Bytes())
		for n, it := range items {
			for i, place := range places(it.Part, columns(it.Shape)) {
				put(body[l.At(n):], int64(i), Width(it.DType), number(it.Name, place))
			}
		}
		if err := WriteShard(t.Context(), tmp, rank, l, body); err != nil {
			t.Fatal(err)
		}
	}
	return len(all)
}

func made(t testing.TB, dir string, step int) string {
	t.Helper()
	n, err := Commit(dir, write(t, dir, step), &Manifest{Step: step, Tokens: 7, Seed: 3, Experiment: experiment.Default()})
	if err != nil || n < 24*8 {
		t.Fatalf("%d bytes, %v", n, err)
	}
	return Dir(dir, step)
}

func TestRoundTrip(t *testing.T) {
	c, err := Open(made(t, t.TempDir(), 30))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if m := c.Manifest; m.Step != 30 || m.Tokens != 7 || m.Seed != 3 || len(m.Files) != 3 || len(m.Tensors) != 4 {
		t.Errorf("%+v", m)
	}
	for _, x := range []struct {
		name, dtype string
		shape       []int64
		part        Part
	}{
		{"w", "F32", []int64{4, 6}, Whole(4, 6)}, {"m", "F32", []int64{4, 6}, Whole(4, 6)}, {"v", "F32", []int64{5}, Whole(1, 5)},
		{"v.index", "I64", []int64{5}, Whole(1, 5)}, {"w", "F32", []int64{4, 6}, Part{RowLo: 1, RowHi: 3, ColLo: 2, ColHi: 5, Count: 6}},
		{"m", "F32", []int64{4, 6}, Part{RowLo: 0, RowHi: 4, ColLo: 2, ColHi: 6, From: 3, Count: 9}},
		{"v", "F32", []int64{5}, Part{RowHi: 1, Picks: []int64{1, 2, 4}, Count: 3}}, {"v", "F32", []int64{5}, Part{RowHi: 1, ColLo: 1, ColHi: 4, Count: 3}},
	} {
		width := Width(x.dtype)
		got, want := make([]byte, x.part.Count*int64(width)), make([]byte, x.part.Count*int64(width))
		for i, place := range places(x.part, columns(x.shape)) {
			put(want, int64(i), width, number(x.name, place))
		}
		if err := c.Read(got, x.name, x.dtype, x.shape, x.part); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%+v: %v\n%v\n%v", x, err, got, want)
		}
	}
	for _, x := range []struct {
		name, dtype string
		shape       []int64
	}{{"x", "F32", []int64{4, 6}}, {"w", "I64", []int64{4, 6}}, {"w", "F32", []int64{6, 4}}, {"w", "F32", []int64{24}}} {
		if err := c.Read(make([]byte, 96), x.name, x.dtype, x.shape, Whole(4, 6)); err == nil {
			t.Errorf("%+v: read", x)
		}
	}
}

// TestFilesAreSafetensors reads what was written as any reader of the format does, and the golden files of the project.
func TestFilesAreSafetensors(t *testing.T) {
	dir := made(t, t.TempDir(), 1)
	files, err := filepath.Glob(filepath.Join(dir, "*.safetensors"))
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := OpenArrays(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		covered := int64(0) // the format knows no gaps
		for _, a := range f.Arrays {
			covered += a.Bytes()
		}
		if f.Start%64 != 0 || covered != int64(len(data))-f.Start {
			t.Errorf("%s: elements from byte %d on, %d of %d bytes named", path, f.Start, covered, int64(len(data))-f.Start)
		}
	}
}

// TestDamage flips every byte of every file and cuts files off: nothing that is not what was written is ever read.
func TestDamage(t *testing.T) {
	dir := made(t, t.TempDir(), 30)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := everything(dir)
	if want == "" {
		t.Fatal("nothing to read")
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range data {
			if e.Name() == ManifestFile && i%7 > 0 {
				continue // it is long
			}
			bad := bytes.Clone(data)
			bad[i] ^= 0x10
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := everything(dir); got != "" && got != want {
				t.Fatalf("%s, byte %d (%q) flipped: other content is read", e.Name(), i, data[i])
			}
		}
		for _, n := range []int{0, 1, len(data) / 2, len(data) - 1} {
			if err := os.WriteFile(path, data[:n], 0o600); err != nil {
				t.Fatal(err)
			}
			if everything(dir) != "" {
				t.Errorf("%s of %d bytes: read", e.Name(), n)
			}
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// everything is all that a checkpoint holds; empty where something of it cannot be read.
func everything(dir string) string {
	c, err := Open(dir)
	if err != nil {
		return ""
	}
	defer c.Close()
	var b strings.Builder
	for _, name := range []string{"w", "m", "v", "v.index"} {
		x, _ := c.Tensor(name)
		if len(x.Shape) == 0 {
			return ""
		}
		rows, cols := x.Dims()
		data := make([]byte, rows*cols*Width(x.DType))
		if err := c.Read(data, name, x.DType, x.Shape, Whole(rows, cols)); err != nil {
			return ""
		}
		fmt.Fprintf(&b, "%s %x\n", name, data)
	}
	return b.String()
}

func TestFindAndKeep(t *testing.T) {
	run := t.TempDir()
	if _, _, err := Find(run); !errors.Is(err, ErrNone) {
		t.Errorf("a run without any: %v", err)
	}
	for _, step := range []int{9, 10, 100} {
		made(t, run, step)
	}
	write(t, run, 200) // one that never got its name
	for _, path := range []string{run, Folder(run), Dir(run, 100)} {
		if dir, skipped, err := Find(path); dir != Dir(run, 100) || len(skipped) > 0 || err != nil {
			t.Errorf("%s: %s, %v, %v", path, dir, skipped, err)
		}
	}
	if err := os.Truncate(filepath.Join(Dir(run, 100), shardName(0)), 40); err != nil {
		t.Fatal(err)
	}
	if dir, skipped, err := Find(run); dir != Dir(run, 10) || len(skipped) != 1 || !strings.Contains(skipped[0].Error(), "is not whole") || err != nil {
		t.Errorf("after damage: %s, %v, %v", dir, skipped, err)
	}
	if err := Keep(run, 2); err != nil {
		t.Fatal(err)
	}
	if steps, err := Steps(Folder(run)); err != nil || fmt.Sprint(steps) != "[10 100]" {
		t.Errorf("%v, %v", steps, err)
	}
	if err := Drop(run, 200); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(Folder(run)); err != nil || len(left) != 2 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestIncompleteHasNoName(t *testing.T) {
	run := t.TempDir()
	write(t, run, 5)
	if err := os.Remove(filepath.Join(aside(run, 5), sideName(2))); err != nil {
		t.Fatal(err)
	}
	var absent *AbsentError
	if _, err := Commit(run, len(shards()), &Manifest{Step: 5}); !errors.As(err, &absent) || absent.Rank != 2 {
		t.Errorf("%v", err)
	}
	write2 := func(items ...Item) error {
		dir, err := Begin(run, 6)
		if err != nil {
			return err
		}
		l, err := NewLayout(items)
		if err != nil {
			return err
		}
		if err := WriteShard(t.Context(), dir, 0, l, make([]byte, l.Bytes())); err != nil {
			return err
		}
		_, err = Commit(run, 1, &Manifest{Step: 6})
		return errors.Join(err, Drop(run, 6))
	}
	if err := write2(Item{"w", "F32", []int64{4, 6}, Part{RowHi: 4, ColHi: 3, Count: 12}}); err == nil || !strings.Contains(err.Error(), "12 of 24") {
		t.Errorf("half a tensor: %v", err)
	}
	if err := write2(Item{"w", "F32", []int64{4, 6}, Part{RowHi: 5, ColHi: 6, Count: 30}}); err == nil {
		t.Error("a slice beyond its tensor")
	}
	if _, err := Begin(filepath.Join(run, "gone"), 1); err == nil {
		t.Error("a run that is gone came back")
	}
}

func TestWriteIsCancelled(t *testing.T) {
	run := t.TempDir()
	dir, err := Begin(run, 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l, err := NewLayout(shards()[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteShard(ctx, dir, 0, l, make([]byte, l.Bytes())); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func FuzzManifest(f *testing.F) {
	dir := made(f, f.TempDir(), 3)
	data, err := os.ReadFile(filepath.Join(dir, ManifestFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"schema":9}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if body := len(data) - len(sealed(0)); body > 0 { // what is fuzzed is not the checksum
			data = append(data[:body:body], sealed(crc32.Checksum(data[:body], castagnoli))...)
		}
		m, err := ParseManifest(data)
		if err != nil {
			return
		}
		for _, x := range m.Tensors {
			rows, cols := x.Dims()
			for _, s := range x.Slices {
				if s.Picks == "" && s.part(nil).check(rows, cols) != nil {
					t.Fatalf("%+v of %v", s, x.Shape)
				}
			}
		}
	})
}

func FuzzHeader(f *testing.F) {
	dir := made(f, f.TempDir(), 3)
	data, err := os.ReadFile(filepath.Join(dir, shardName(0)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := OpenArrays(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for name, a := range file.Arrays {
			if err := file.Read(make([]byte, a.Bytes()), name, 0); err != nil {
				t.Fatal(err)
			}
		}
	})
}
