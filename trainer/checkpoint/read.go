package checkpoint

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"boost-tui/internal/regular"
)

// Checkpoint is an open checkpoint. It is used by one goroutine.
type Checkpoint struct {
	Dir      string
	Manifest *Manifest
	tensors  map[string]int
	files    map[string]*openFile
	held     heldSlice
}

type openFile struct {
	*File
	f     *os.File
	picks map[string][]int64
}

// heldSlice is the slice that was read last: ranks that want several parts of it follow each other.
type heldSlice struct {
	file, key string
	data      []byte
}

func parseShard(data []byte) (shard, error) {
	var s shard
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("damaged: %w", err)
	}
	return s, nil
}

// Open opens the checkpoint in a folder. Files that are not there or have another size than the manifest says are an error; their
// content is verified when it is read.
func Open(dir string) (*Checkpoint, error) {
	data, err := regular.ReadFile(filepath.Join(dir, ManifestFile), maxManifest)
	if err != nil {
		return nil, fmt.Errorf("%s is no checkpoint: %w", dir, err)
	}
	m, err := ParseManifest(data)
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", dir, err)
	}
	c := &Checkpoint{Dir: dir, Manifest: m, tensors: make(map[string]int, len(m.Tensors)), files: map[string]*openFile{}}
	for i, t := range m.Tensors {
		c.tensors[t.Name] = i
	}
	for _, f := range m.Files {
		st, err := os.Lstat(filepath.Join(dir, f.Name))
		if err != nil {
			return nil, fmt.Errorf("checkpoint %s is not whole: %w", dir, err)
		}
		if !st.Mode().IsRegular() || st.Size() != f.Bytes {
			return nil, fmt.Errorf("checkpoint %s is not whole: %s has %d bytes, the manifest says %d", dir, f.Name, st.Size(), f.Bytes)
		}
	}
	return c, nil
}

// Close closes the files.
func (c *Checkpoint) Close() error {
	var errs []error
	for _, f := range c.files {
		errs = append(errs, f.f.Close())
	}
	c.files = nil
	return errors.Join(errs...)
}

// Has reports whether there is a tensor of that name.
func (c *Checkpoint) Has(name string) bool { _, ok := c.tensors[name]; return ok }

// Tensor is a tensor by name.
func (c *Checkpoint) Tensor(name string) (Tensor, bool) {
	i, ok := c.tensors[name]
	if !ok {
		return Tensor{}, false
	}
	return c.Manifest.Tensors[i], true
}

// Read fills dst with a part of a tensor, from whatever slices hold it, and verifies those. shape and dtype are what the caller
// takes it for.
func (c *Checkpoint) Read(dst []byte, name, dtype string, shape []int64, part Part) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("checkpoint %s: tensor %q: %w", c.Dir, name, fmt.Errorf(format, args...))
	}
	t, ok := c.Tensor(name)
	if !ok {
		return fail("is not there")
	}
	rows, cols := t.Dims()
	wantRows, wantCols := Tensor{Shape: shape}.Dims()
	if t.DType != dtype || rows != wantRows || cols != wantCols {
		return fail("is %s %v, wanted is %s %v", t.DType, t.Shape, dtype, shape)
	}
	if err := part.check(rows, cols); err != nil {
		return fail("%w", err)
	}
	width := Width(dtype)
	if int64(len(dst)) != part.Count*int64(width) {
		return fail("room for %d bytes, the part has %d", len(dst), part.Count*int64(width))
	}
	got := int64(0)
	for _, s := range t.Slices {
		if !overlap(s, part) {
			continue
		}
		data, picks, err := c.slice(s, width)
		if err != nil {
			return fail("%w", err)
		}
		got += transfer(dst, part, data, s.part(picks), width)
	}
	if got != part.Count {
		return fail("its slices hold %d of the %d elements wanted", got, part.Count)
	}
	return nil
}

// overlap reports whether a slice can hold something of a part.
func overlap(s Slice, p Part) bool {
	if s.Picks != "" || p.Picks != nil {
		return true
	}
	return s.Rows[0] < p.RowHi && p.RowLo < s.Rows[1] && s.Cols[0] < p.ColHi && p.ColLo < s.Cols[1]
}

// slice reads and verifies the elements of a slice.
func (c *Checkpoint) slice(s Slice, width int) (data []byte, picks []int64, err error) {
	f, err := c.file(s.File)
	if err != nil {
		return nil, nil, err
	}
	if s.Picks != "" {
		if picks, err = f.list(s.Picks, s); err != nil {
			return nil, nil, err
		}
	}
	if c.held.file == s.File && c.held.key == s.Key && c.held.data != nil {
		return c.held.data, picks, nil
	}
	n := s.Count * int64(width)
	if a, ok := f.Arrays[s.Key]; !ok || a.Bytes() != n {
		return nil, nil, fmt.Errorf("%s holds no %q of %d bytes", s.File, s.Key, n)
	}
	if int64(cap(c.held.data)) < n {
		c.held.data = make([]byte, n)
	}
	c.held = heldSlice{data: c.held.data[:n]}
	if err := f.Read(c.held.data, s.Key, 0); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", s.File, err)
	}
	if sum := Checksum(crc32.Checksum(c.held.data, castagnoli)); sum != s.CRC {
		c.held.file, c.held.key = "", ""
		return nil, nil, fmt.Errorf("%s is %w: the checksum of %q is %08x, the manifest says %08x", s.File, ErrDamaged, s.Key, uint32(sum), uint32(s.CRC))
	}
	c.held.file, c.held.key = s.File, s.Key
	return c.held.data, picks, nil
}

// file opens a file of the checkpoint once.
func (c *Checkpoint) file(name string) (*openFile, error) {
	if f, ok := c.files[name]; ok {
		return f, nil
	}
	f, err := regular.Open(filepath.Join(c.Dir, name))
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	arrays, err := OpenArrays(f, st.Size())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
	}
	o := &openFile{File: arrays, f: f, picks: map[string][]int64{}}
	c.files[name] = o
	return o, nil
}

// list reads a list of picked elements.
func (f *openFile) list(key string, s Slice) ([]int64, error) {
	picks, ok := f.picks[key]
	if !ok {
		a := f.Arrays[key]
		if a.DType != "I64" {
			return nil, fmt.Errorf("%s holds no list %q", s.File, key)
		}
		data := make([]byte, a.Bytes())
		if err := f.Read(data, key, 0); err != nil {
			return nil, err
		}
		if sum := Checksum(crc32.Checksum(data, castagnoli)); sum != s.PicksCRC {
			return nil, fmt.Errorf("%s is %w: the checksum of %q is %08x, the manifest says %08x", s.File, ErrDamaged, key, uint32(sum), uint32(s.PicksCRC))
		}
		picks = make([]int64, len(data)/8)
		for i := range picks {
			picks[i] = int64(binary.LittleEndian.Uint64(data[8*i:]))
		}
		f.picks[key] = picks
	}
	if s.From+s.Count > int64(len(picks)) {
		return nil, fmt.Errorf("%s: list %q has %d elements, the slice takes %d to %d", s.File, key, len(picks), s.From, s.From+s.Count)
	}
	return picks, nil
}
