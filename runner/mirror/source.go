package mirror

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"

	"boost-tui/internal/regular"
)

const (
	// markBytes is how much of each end of a file its mark covers.
	markBytes = 4 << 10
	// perRound is how much of one growing file goes in one round, so that no file keeps another one waiting; bulkRound is
	// the same for all that are large together.
	perRound  = 256 << 10
	bulkRound = 1 << 20
	// maxEntire bounds a file that is replaced as a whole.
	maxEntire = 64 << 20
	// maxEntries bounds the files of a folder.
	maxEntries = 1 << 17
)

// Source reads the files of a folder for a Sink elsewhere. Used by one goroutine.
type Source struct {
	dir   string
	names Names
	files map[string]*sent
}

// sent is how much of a file has gone.
type sent struct {
	class Class
	ino   uint64
	size  int64
	mtime int64 // ns; of one that is replaced
	off   int64 // of one that grows
	fresh bool  // the next stretch replaces what is there
	seen  bool  // in this round
	end   int64 // of what was there when the round began
}

// NewSource is the source of a folder.
func NewSource(dir string, names Names) *Source {
	return &Source{dir: dir, names: names, files: map[string]*sent{}}
}

// Have takes note of what the keeper has of a file. Where it is not the beginning of what is here, the file begins anew.
func (s *Source) Have(m Message) error {
	class := s.names.class(m.Name)
	if class == None || class == Folder {
		return fmt.Errorf("%w: it has %q, which is no file of a run", ErrMessage, m.Name)
	}
	if class == Entire {
		return nil // it is small: it goes again
	}
	f := &sent{class: class, off: m.Offset}
	s.files[m.Name] = f
	file, err := regular.Open(s.path(m.Name))
	if errors.Is(err, fs.ErrNotExist) {
		f.fresh = true
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	mark, err := markOf(file, m.Offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: %w", m.Name, err)
	}
	if err != nil || !bytes.Equal(mark, m.Data) {
		f.off, f.fresh = 0, true
	}
	return nil
}

// Again makes a file begin anew.
func (s *Source) Again(name string) {
	if f := s.files[name]; f != nil {
		f.off, f.fresh, f.ino = 0, true, 0
	}
}

func (s *Source) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

// Round looks at the folder once and emits what is new: small files first, then what grows, then what is large. more says
// that there was more than goes in one round.
func (s *Source) Round(emit func(Message) error) (more bool, err error) {
	if err := s.look(); err != nil {
		return false, err
	}
	names := s.order()
	bulk := int64(bulkRound)
	for _, name := range names {
		f := s.files[name]
		switch {
		case !f.seen && f.class == Entire:
			delete(s.files, name)
			err = emit(Message{Kind: Gone, Name: name})
		case !f.seen: // what it held stays where it is kept
			delete(s.files, name)
		case f.class == Entire && !s.complete(name):
			more = true // what lies beside it comes first
		case f.class == Entire:
			err = s.entire(name, f, emit)
		case f.class == Growing:
			err = s.grow(name, f, perRound, emit)
			more = more || f.off < f.end
		default:
			before := f.off
			err = s.grow(name, f, bulk, emit)
			bulk -= max(0, f.off-before)
			more = more || f.off < f.end
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, regular.ErrNotRegular) {
			err = nil // it went in this moment; the next round sees
		}
		if err != nil {
			return more, err
		}
	}
	return more, nil
}

// order is that in which files go.
func (s *Source) order() []string {
	names := make([]string, 0, len(s.files))
	for name := range s.files {
		names = append(names, name)
	}
	rank := func(name string) int {
		switch s.files[name].class {
		case Growing:
			return 0
		case Bulk:
			return 1
		}
		if path.Dir(name) == "." {
			return -1
		}
		return 2 // of a folder: after what lies beside it
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return bytes.Compare([]byte(a), []byte(b))
	})
	return names
}

// complete reports whether everything large that lies beside a file has gone: whoever sees the file finds the rest.
func (s *Source) complete(name string) bool {
	folder := path.Dir(name)
	for other, f := range s.files {
		if f.class == Bulk && path.Dir(other) == folder && (f.off < f.end || f.fresh && f.end > 0) {
			return false
		}
	}
	return true
}

// look lists the folder.
func (s *Source) look() error {
	for _, f := range s.files {
		f.seen = false
	}
	left := maxEntries
	return s.list("", 1, &left)
}

func (s *Source) list(folder string, depth int, left *int) error {
	entries, err := os.ReadDir(s.path(folder))
	if errors.Is(err, fs.ErrNotExist) && folder != "" {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", s.path(folder), err)
	}
	for _, e := range entries {
		if *left--; *left < 0 {
			return fmt.Errorf("%s holds more than %d files", s.dir, maxEntries)
		}
		name := path.Join(folder, e.Name())
		if e.IsDir() {
			if depth < maxDepth {
				if err := s.list(name, depth+1, left); err != nil {
					return err
				}
			}
			continue
		}
		if class := s.names.class(name); class != None && class != Folder && e.Type().IsRegular() {
			s.see(name, class)
		}
	}
	return nil
}

func (s *Source) see(name string, class Class) {
	st, err := os.Lstat(s.path(name))
	if err != nil || !st.Mode().IsRegular() {
		return
	}
	f := s.files[name]
	if f == nil {
		f = &sent{class: class, fresh: true}
		s.files[name] = f
	}
	var ino uint64
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		ino = sys.Ino
	}
	f.seen = true
	if class == Entire {
		if f.ino != ino || f.size != st.Size() || f.mtime != st.ModTime().UnixNano() {
			f.ino, f.size, f.mtime, f.fresh = ino, st.Size(), st.ModTime().UnixNano(), true
		}
		return
	}
	if f.ino != 0 && f.ino != ino || st.Size() < f.off {
		f.off, f.fresh = 0, true
	}
	f.ino, f.end = ino, st.Size()
}

// entire sends a file that appears whole, when it is another one than before.
func (s *Source) entire(name string, f *sent, emit func(Message) error) error {
	if !f.fresh {
		return nil
	}
	data, err := regular.ReadFile(s.path(name), maxEntire)
	if err != nil {
		return err
	}
	f.fresh = false
	for off := 0; ; off += MaxData {
		m := Message{Kind: Whole, Name: name, Offset: int64(off), Data: data[min(off, len(data)):min(off+MaxData, len(data))]}
		if off == 0 {
			m.Flags |= Fresh
		}
		if off+MaxData >= len(data) {
			m.Flags |= Last
			return emit(m)
		}
		if err := emit(m); err != nil {
			return err
		}
	}
}

// grow sends up to most bytes of what is new in a file.
func (s *Source) grow(name string, f *sent, most int64, emit func(Message) error) error {
	if f.off >= f.end && !f.fresh {
		return nil
	}
	file, err := regular.Open(s.path(name))
	if err != nil {
		return err
	}
	defer file.Close()
	buf := make([]byte, min(MaxData, max(f.end-f.off, 1)))
	for sentNow := int64(0); sentNow < most || f.fresh; {
		n, err := file.ReadAt(buf[:min(int64(len(buf)), max(f.end-f.off, 0))], f.off)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if n == 0 && !f.fresh {
			return nil
		}
		m := Message{Kind: Data, Name: name, Offset: f.off, Data: bytes.Clone(buf[:n])}
		if f.fresh {
			m.Flags = Fresh
		}
		if err := emit(m); err != nil {
			return err
		}
		f.off, f.fresh = f.off+int64(n), false
		sentNow += int64(n)
		if f.off >= f.end {
			return nil
		}
	}
	return nil
}
