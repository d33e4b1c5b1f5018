package checkpoint

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"

	"boost-tui/runner/protocol"
)

// Item is a slice that a rank writes.
type Item struct {
	Name  string
	DType string
	Shape []int64 // of the whole tensor
	Part  Part
}

// Layout is the body of a rank's file: where each item's elements lie in it. The file's body is one piece of memory, so that writing
// is copying it out.
type Layout struct {
	items  []Item // as they were given
	order  []int  // in which they lie in the body
	keys   []string
	at     []int64 // bytes into the body
	picks  []pickList
	bytes  int64
	header []byte
	arrays map[string]Array
}

// pickList is the places of picked elements, which several items may share.
type pickList struct {
	key   string
	at    int64
	picks []int64
}

// NewLayout lays items out. Lists of picked elements and items of eight bytes come first, so that everything is aligned.
func NewLayout(items []Item) (*Layout, error) {
	l := &Layout{items: slices.Clone(items), at: make([]int64, len(items)), keys: make([]string, len(items)), arrays: map[string]Array{}}
	for i := range items {
		l.order = append(l.order, i)
	}
	slices.SortStableFunc(l.order, func(a, b int) int { return Width(items[b].DType) - Width(items[a].DType) })
	for _, it := range l.items {
		t := Tensor{Name: it.Name, DType: it.DType, Shape: it.Shape}
		rows, cols := t.Dims()
		if err := it.Part.check(rows, cols); err != nil {
			return nil, fmt.Errorf("checkpoint: tensor %q: %w", it.Name, err)
		}
		if it.Part.Picks != nil && l.list(it.Part.Picks) == "" {
			l.picks = append(l.picks, pickList{it.Name + ".picks", l.bytes, it.Part.Picks})
			l.place(it.Name+".picks", "I64", []int64{int64(len(it.Part.Picks))}, int64(len(it.Part.Picks)))
		}
	}
	for _, i := range l.order {
		it := l.items[i]
		l.at[i] = l.bytes
		shape := []int64{it.Part.Count}
		if it.Part.rectangular() && len(it.Shape) == 2 {
			shape = []int64{int64(it.Part.RowHi - it.Part.RowLo), int64(it.Part.ColHi - it.Part.ColLo)}
		}
		l.keys[i] = it.Name
		for n := 2; l.taken(l.keys[i]); n++ { // a rank may hold several parts of a tensor
			l.keys[i] = fmt.Sprintf("%s.%d", it.Name, n)
		}
		l.place(l.keys[i], it.DType, shape, it.Part.Count)
	}
	var err error
	l.header, err = EncodeHeader(l.arrays, map[string]string{"format": "boost-tui checkpoint", "schema": fmt.Sprint(Schema)})
	return l, err
}

func (l *Layout) taken(key string) bool { _, ok := l.arrays[key]; return ok }

func (l *Layout) place(key, dtype string, shape []int64, count int64) {
	n := count * int64(Width(dtype))
	l.arrays[key] = Array{DType: dtype, Shape: shape, Range: [2]int64{l.bytes, l.bytes + n}}
	l.bytes += n
}

// list is the key of a list of picked elements that has a place already; empty: none.
func (l *Layout) list(picks []int64) string {
	for _, p := range l.picks {
		if len(p.picks) == len(picks) && (len(picks) == 0 || &p.picks[0] == &picks[0]) {
			return p.key
		}
	}
	return ""
}

// Bytes is the size of the body.
func (l *Layout) Bytes() int64 { return l.bytes }

// At is where an item begins in the body, given its number.
func (l *Layout) At(item int) int64 { return l.at[item] }

// shard is what one rank has written: the side file from which the manifest is made.
type shard struct {
	File    FileEntry `json:"file"`
	Tensors []Tensor  `json:"tensors"`
}

// castagnoli is the polynomial that processors have an instruction for.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// chunk is how much is written at once: a cancelled writer ends after one.
const chunk = 8 << 20

// WriteShard writes what a rank holds into the folder of a checkpoint that is being made (Begin). The body is laid out by l; the
// lists of picked elements are filled in here. Everything is on the disk when it returns; on an error nothing of it is left.
func WriteShard(ctx context.Context, dir string, rank int, l *Layout, body []byte) error {
	side := filepath.Join(dir, sideName(rank))
	if len(l.items) == 0 {
		return writeJSON(side, shard{})
	}
	for _, p := range l.picks {
		for i, v := range p.picks {
			binary.LittleEndian.PutUint64(body[p.at+8*int64(i):], uint64(v))
		}
	}
	path := filepath.Join(dir, shardName(rank))
	s := shard{File: FileEntry{Name: filepath.Base(path), Bytes: int64(len(l.header)) + l.bytes}}
	err := writeBody(ctx, path, l.header, body[:l.bytes])
	if err != nil {
		return errors.Join(fmt.Errorf("checkpoint: write %s: %w", path, err), missing(os.Remove(path)))
	}
	for i, it := range l.items {
		p := it.Part
		from, n := l.at[i], p.Count*int64(Width(it.DType))
		e := Slice{File: s.File.Name, Key: l.keys[i], Rows: [2]int{p.RowLo, p.RowHi}, Cols: [2]int{p.ColLo, p.ColHi}, From: p.From, Count: p.Count,
			CRC: Checksum(crc32.Checksum(body[from:from+n], castagnoli))}
		if p.Picks != nil {
			e.Picks = l.list(p.Picks)
			a := l.arrays[e.Picks]
			e.PicksCRC = Checksum(crc32.Checksum(body[a.Range[0]:a.Range[1]], castagnoli))
		}
		s.Tensors = append(s.Tensors, Tensor{it.Name, it.DType, it.Shape, []Slice{e}})
	}
	if err := writeJSON(side, s); err != nil {
		return errors.Join(fmt.Errorf("checkpoint: %w", err), missing(os.Remove(path)))
	}
	return nil
}

func writeJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return protocol.WriteFile(path, append(data, '\n'))
}

// writeBody writes a file that is not there yet, down to the disk.
func writeBody(ctx context.Context, path string, header, body []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, protocol.FileMode)
	if err != nil {
		return err
	}
	_, err = f.Write(header)
	for len(body) > 0 && err == nil {
		if err = context.Cause(ctx); err != nil {
			break
		}
		n := min(len(body), chunk)
		_, err = f.Write(body[:n])
		body = body[n:]
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func missing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
