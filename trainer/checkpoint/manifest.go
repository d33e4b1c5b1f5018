package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"slices"
	"strings"

	"boost-tui/experiment"
)

// Schema is the version of the manifest.
const Schema = 1

// ErrNewerSchema is wrapped by errors about checkpoints that a later version of the program wrote.
var ErrNewerSchema = errors.New("written by a newer boost-tui")

// Bounds of what is read.
const (
	maxManifest = 256 << 20
	maxElements = 1 << 48 // of a tensor
)

// Manifest is manifest.json: what a checkpoint holds.
type Manifest struct {
	Schema int `json:"schema"`
	// Step is the last step that was done. The order of the data, the learning rate, and the generators of every variant are
	// functions of the seed and of the step, so that this is where they all stand.
	Step       int                   `json:"step"`
	Tokens     int64                 `json:"tokens"` // that training has seen
	Seed       uint64                `json:"seed"`   // of weights and data order
	Run        string                `json:"run"`    // id of the run that wrote it
	Resumed    string                `json:"resumed,omitempty"`
	Experiment experiment.Experiment `json:"experiment"` // resolved
	Tensors    []Tensor              `json:"tensors"`
	Files      []FileEntry           `json:"files"`
	// CRC, the last member, is that of all bytes before it.
	CRC Checksum `json:"crc32c"`
}

// Tensor is one tensor of the whole model, or of its optimizer.
type Tensor struct {
	Name   string  `json:"name"`
	DType  string  `json:"dtype"` // as safetensors calls it
	Shape  []int64 `json:"shape"` // one or two dimensions
	Slices []Slice `json:"slices"`
}

// Slice is a part of a tensor and where it lies.
type Slice struct {
	File  string   `json:"file"`
	Key   string   `json:"key"` // in the file
	Rows  [2]int   `json:"rows"`
	Cols  [2]int   `json:"cols"`
	From  int64    `json:"from,omitempty"`  // first element of the rectangle, counted row by row
	Count int64    `json:"count"`           // elements
	Picks string   `json:"picks,omitempty"` // key of the list of a vector's elements that From and Count choose from
	CRC   Checksum `json:"crc32c"`          // of the elements
	// PicksCRC is that of the list.
	PicksCRC Checksum `json:"picks_crc32c,omitempty"`
}

// FileEntry is a file of the checkpoint.
type FileEntry struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// Checksum is a CRC-32 (Castagnoli), written as eight hexadecimal digits.
type Checksum uint32

// MarshalText implements encoding.TextMarshaler.
func (c Checksum) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%08x", uint32(c)), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *Checksum) UnmarshalText(text []byte) error {
	var v uint32
	if n, err := fmt.Sscanf(string(text), "%08x", &v); err != nil || n != 1 || len(text) != 8 {
		return fmt.Errorf("checksum %q is not eight hexadecimal digits", text)
	}
	*c = Checksum(v)
	return nil
}

// Names of tensors of the optimizer, beside that of the parameter that they belong to.
const (
	FirstMoment  = "optimizer.m."
	SecondMoment = "optimizer.v."
)

// Dims are the rows and columns of a tensor; a vector is one row.
func (t Tensor) Dims() (rows, cols int) {
	if len(t.Shape) == 1 {
		return 1, int(t.Shape[0])
	}
	return int(t.Shape[0]), int(t.Shape[1])
}

// sealed is how a manifest ends.
func sealed(crc uint32) string { return fmt.Sprintf(",\"crc32c\":\"%08x\"}\n", crc) }

// encode is the file's content.
func (m *Manifest) encode() ([]byte, error) {
	m.CRC = 0
	data, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	data = data[:len(data)+1-len(sealed(0))]
	return append(data, sealed(crc32.Checksum(data, castagnoli))...), nil
}

// ParseManifest decodes a manifest and verifies that it makes sense by itself: names are unique, slices lie in their tensors and
// hold every element once.
func ParseManifest(data []byte) (*Manifest, error) {
	var newer struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(data, &newer); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", ManifestFile, err)
	}
	if newer.Schema > Schema {
		return nil, fmt.Errorf("%s has schema %d, this program reads up to %d: %w; update boost-tui", ManifestFile, newer.Schema, Schema, ErrNewerSchema)
	}
	if body := max(0, len(data)-len(sealed(0))); string(data[body:]) != sealed(crc32.Checksum(data[:body], castagnoli)) {
		return nil, fmt.Errorf("%s is damaged: its checksum is another", ManifestFile)
	}
	m := &Manifest{}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", ManifestFile, err)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", ManifestFile, err)
	}
	return m, nil
}

func (m *Manifest) check() error {
	if m.Schema < 1 || m.Step < 0 || m.Tokens < 0 {
		return fmt.Errorf("schema %d, step %d, %d tokens", m.Schema, m.Step, m.Tokens)
	}
	files := map[string]bool{}
	for _, f := range m.Files {
		if files[f.Name] || f.Name != filepath.Base(f.Name) || strings.HasPrefix(f.Name, ".") || f.Bytes < 0 {
			return fmt.Errorf("file %q of %d bytes", f.Name, f.Bytes)
		}
		files[f.Name] = true
	}
	names := map[string]bool{}
	for _, t := range m.Tensors {
		if names[t.Name] {
			return fmt.Errorf("tensor %q twice", t.Name)
		}
		names[t.Name] = true
		if err := t.check(files); err != nil {
			return fmt.Errorf("tensor %q: %w", t.Name, err)
		}
	}
	return nil
}

func (t Tensor) check(files map[string]bool) error {
	if Width(t.DType) == 0 {
		return fmt.Errorf("dtype %q is unknown", t.DType)
	}
	if len(t.Shape) < 1 || len(t.Shape) > 2 {
		return fmt.Errorf("shape %v has neither one nor two dimensions", t.Shape)
	}
	all, err := elements(t.Shape, maxElements)
	if err != nil {
		return err
	}
	rows, cols := t.Dims()
	held := int64(0)
	for _, s := range t.Slices {
		if !files[s.File] {
			return fmt.Errorf("a slice in %q, which is no file of the checkpoint", s.File)
		}
		p := s.part(nil)
		if s.Picks == "" {
			if err := p.check(rows, cols); err != nil {
				return err
			}
		} else if s.From < 0 || s.Count < 0 {
			return fmt.Errorf("elements %d to %d", s.From, s.From+s.Count)
		}
		held += s.Count
	}
	if held != all {
		return fmt.Errorf("its slices hold %d of %d elements", held, all)
	}
	return nil
}

// part is the slice's part, given its picked elements.
func (s Slice) part(picks []int64) Part {
	return Part{RowLo: s.Rows[0], RowHi: s.Rows[1], ColLo: s.Cols[0], ColHi: s.Cols[1], From: s.From, Count: s.Count, Picks: picks}
}

// Tensor finds a tensor by name.
func (m *Manifest) Tensor(name string) (Tensor, bool) {
	i := slices.IndexFunc(m.Tensors, func(t Tensor) bool { return t.Name == name })
	if i < 0 {
		return Tensor{}, false
	}
	return m.Tensors[i], true
}

// merge puts what the ranks wrote together.
func (m *Manifest) merge(shards []shard) error {
	at := map[string]int{}
	for _, s := range shards {
		if s.File.Name == "" {
			continue // a rank that holds nothing that others do not
		}
		m.Files = append(m.Files, s.File)
		for _, t := range s.Tensors {
			i, there := at[t.Name]
			if !there {
				at[t.Name] = len(m.Tensors)
				m.Tensors = append(m.Tensors, t)
				continue
			}
			o := &m.Tensors[i]
			if o.DType != t.DType || !slices.Equal(o.Shape, t.Shape) {
				return fmt.Errorf("ranks disagree about tensor %q: %s %v and %s %v", t.Name, o.DType, o.Shape, t.DType, t.Shape)
			}
			o.Slices = append(o.Slices, t.Slices...)
		}
	}
	return m.check()
}
