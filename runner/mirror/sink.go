package mirror

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
)

// Modes of what a sink makes: a run is private until its owner opens it.
const (
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)

// Sink keeps the files that a Source elsewhere sends. Used by one goroutine.
type Sink struct {
	dir   string
	root  *os.Root
	names Names
	sizes map[string]int64 // of what grows, as far as it was asked
	aside map[string]*half
	fresh map[string]bool // changed since the last Sync
}

// half is a file that has not appeared yet.
type half struct {
	f    *os.File
	name string // that it has meanwhile
	size int64
}

// NewSink is the sink of a folder, which must be there.
func NewSink(dir string, names Names) (*Sink, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Sink{dir: dir, root: root, names: names, sizes: map[string]int64{}, aside: map[string]*half{}, fresh: map[string]bool{}}, nil
}

// Close drops what has not appeared, and lets go of the folder.
func (s *Sink) Close() error {
	for name := range s.aside {
		s.drop(name)
	}
	return s.root.Close()
}

// Have lists what is there already.
func (s *Sink) Have() ([]Message, error) {
	src := NewSource(s.dir, s.names)
	if err := src.look(); err != nil {
		return nil, err
	}
	var have []Message
	for _, name := range src.order() {
		f := src.files[name]
		if f.class == Entire {
			continue
		}
		m, err := s.mark(name, f.end)
		if err != nil {
			return nil, err
		}
		s.sizes[name] = f.end
		have = append(have, m)
	}
	return have, nil
}

func (s *Sink) mark(name string, size int64) (Message, error) {
	f, err := s.open(name, os.O_RDONLY)
	if err != nil {
		return Message{}, err
	}
	defer f.Close()
	mark, err := markOf(f, size)
	if err != nil {
		return Message{}, fmt.Errorf("read %s: %w", name, err)
	}
	return Message{Kind: Have, Name: name, Offset: size, Data: mark}, nil
}

// open opens a file inside the folder, through no link.
func (s *Sink) open(name string, flag int) (*os.File, error) {
	f, err := s.root.OpenFile(filepath.FromSlash(name), flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, fileMode)
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is not a regular file", name), f.Close())
	}
	return f, nil
}

// Apply does what a message of kind Data, Whole or Gone says. An error that is ErrMessage is the other side's doing.
func (s *Sink) Apply(m Message) error {
	class := s.names.class(m.Name)
	switch {
	case class == None:
		return fmt.Errorf("%w: %q is no file of a run", ErrMessage, m.Name)
	case m.Kind == Data && (class == Growing || class == Bulk):
		return s.append(m)
	case m.Kind == Whole && class == Entire:
		return s.whole(m)
	case m.Kind == Gone && class == Folder:
		return s.root.RemoveAll(filepath.FromSlash(m.Name))
	case m.Kind == Gone:
		s.drop(m.Name)
		delete(s.sizes, m.Name)
		if err := s.root.Remove(filepath.FromSlash(m.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return fmt.Errorf("%w: message %c about %q", ErrMessage, m.Kind, m.Name)
}

func (s *Sink) append(m Message) error {
	if m.Flags&Fresh != 0 && m.Offset != 0 {
		return fmt.Errorf("%w: %s begins at %d", ErrMessage, m.Name, m.Offset)
	}
	if err := s.folder(m.Name); err != nil {
		return err
	}
	flag := os.O_WRONLY | os.O_CREATE
	if m.Flags&Fresh != 0 {
		flag |= os.O_TRUNC
	}
	f, err := s.open(m.Name, flag)
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err == nil && st.Size() != m.Offset {
		err = fmt.Errorf("%w: %s goes on at %d, it has %d bytes here", ErrMessage, m.Name, m.Offset, st.Size())
	}
	if err == nil {
		_, err = f.WriteAt(m.Data, m.Offset)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	s.sizes[m.Name] = m.Offset + int64(len(m.Data))
	s.fresh[m.Name] = true
	return nil
}

// whole collects a file aside, and gives it its name when it is complete.
func (s *Sink) whole(m Message) error {
	if m.Flags&Fresh != 0 {
		s.drop(m.Name)
		if err := s.begin(m.Name); err != nil {
			return err
		}
	}
	h := s.aside[m.Name]
	if h == nil || h.size != m.Offset || h.size+int64(len(m.Data)) > maxEntire {
		s.drop(m.Name)
		return fmt.Errorf("%w: %s goes on at %d", ErrMessage, m.Name, m.Offset)
	}
	_, err := h.f.Write(m.Data)
	h.size += int64(len(m.Data))
	if err == nil && m.Flags&Last == 0 {
		return nil
	}
	delete(s.aside, m.Name)
	err = errors.Join(err, h.f.Close())
	if err == nil {
		err = s.root.Rename(h.name, filepath.FromSlash(m.Name))
	}
	if err != nil {
		_ = s.root.Remove(h.name) // it never had its name
		return err
	}
	s.fresh[m.Name] = true
	return nil
}

func (s *Sink) begin(name string) error {
	if err := s.folder(name); err != nil {
		return err
	}
	var b [6]byte
	if _, err := rand.Read(b[:]); err != nil {
		return err
	}
	h := &half{name: filepath.FromSlash(path.Join(path.Dir(name), "."+path.Base(name)+"."+hex.EncodeToString(b[:])))}
	var err error
	if h.f, err = s.open(h.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL); err != nil {
		return err
	}
	s.aside[name] = h
	return nil
}

// drop forgets a file that has not appeared.
func (s *Sink) drop(name string) {
	if h := s.aside[name]; h != nil {
		delete(s.aside, name)
		_ = h.f.Close() // nothing of it is kept
		_ = s.root.Remove(h.name)
	}
}

// folder makes the folders that a file lies in. The run's own is there, or nothing is made.
func (s *Sink) folder(name string) error {
	dir := path.Dir(name)
	if dir == "." {
		return nil
	}
	return s.root.MkdirAll(filepath.FromSlash(dir), dirMode)
}

// Same reports whether a file here is what the source says of its own in a Sum.
func (s *Sink) Same(m Message) (bool, error) {
	if s.names.class(m.Name) != Growing {
		return false, fmt.Errorf("%w: checksum of %q", ErrMessage, m.Name)
	}
	st, err := s.root.Lstat(filepath.FromSlash(m.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || st.Size() != m.Offset {
		return false, err
	}
	sum, err := sumOf(filepath.Join(s.dir, filepath.FromSlash(m.Name)), m.Offset)
	return bytes.Equal(sum, m.Data), err
}

// Sync brings what has changed to the disk: the source may then be removed.
func (s *Sink) Sync() error {
	var errs []error
	for name := range s.fresh {
		f, err := s.open(name, os.O_RDONLY)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		errs = append(errs, err)
	}
	clear(s.fresh)
	return errors.Join(errs...)
}
