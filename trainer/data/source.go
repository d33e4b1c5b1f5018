package data

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sort"
)

// Source is a sequence of tokens that lies in files. It is used by one goroutine at a time.
type Source struct {
	name      string
	tokenized bool   // its files hold tokens, not text
	dtype     string // of tokens in .bin files that do not say it themselves
	vocab     int
	files     []file // in order; at is ascending
	tokens    int64
	open      func(path string) (reader, fs.FileInfo, error)
	close     func() error
	kept      map[int]reader
	buf       []byte
}

// file is a stretch of the sequence.
type file struct {
	path   string
	format Format
	// assumed: neither the file nor anybody else says its format.
	assumed bool
	at      int64 // position of its first token in the sequence
	tokens  int64
	start   int64 // bytes before its first token
	size    int64 // in bytes, when the source was opened
}

// Name is what the source was opened as.
func (s *Source) Name() string { return s.name }

// Tokens is the length of the sequence.
func (s *Source) Tokens() int64 { return s.tokens }

// Files is how many files it lies in.
func (s *Source) Files() int { return len(s.files) }

// Read fills dst with the tokens from position at on, across files. A token beyond the vocabulary, or
// a file that has become shorter, is an error that names the place.
func (s *Source) Read(dst []int32, at int64) error {
	if at < 0 || at+int64(len(dst)) > s.tokens {
		return fmt.Errorf("data: tokens %d to %d of %d in %s", at, at+int64(len(dst)), s.tokens, s.name)
	}
	// The last file that starts at or before at; empty files share their start with the next.
	i := sort.Search(len(s.files), func(i int) bool { return s.files[i].at > at }) - 1
	for ; len(dst) > 0; i++ {
		f := &s.files[i]
		n := min(int64(len(dst)), f.at+f.tokens-at)
		if n <= 0 {
			continue
		}
		if err := s.readFile(i, dst[:n], at-f.at); err != nil {
			return fmt.Errorf("data: %s: %w", s.where(f.path), err)
		}
		dst, at = dst[n:], at+n
	}
	return nil
}

// readFile reads tokens from position at of one file on.
func (s *Source) readFile(i int, dst []int32, at int64) error {
	f := &s.files[i]
	r, keep := s.kept[i]
	if !keep {
		var st fs.FileInfo
		var err error
		if r, st, err = s.open(f.path); err != nil {
			return err
		}
		defer r.Close()
		if st.Size() != f.size {
			return fmt.Errorf("has %d bytes and had %d when the run began: data must not change during a run", st.Size(), f.size)
		}
	}
	size := f.format.bytes()
	if need := len(dst) * int(size); cap(s.buf) < need {
		s.buf = make([]byte, need)
	}
	b := s.buf[:len(dst)*int(size)]
	if n, err := r.ReadAt(b, f.start+at*size); n < len(b) {
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("ends before byte %d and had %d when the run began: data must not change during a run", f.start+at*size+int64(len(b)), f.size)
		}
		return err
	}
	for j := range dst {
		var id uint64
		switch f.format {
		case Uint16:
			id = uint64(binary.LittleEndian.Uint16(b[2*j:]))
		case Uint32:
			id = uint64(binary.LittleEndian.Uint32(b[4*j:]))
		case Uint64:
			id = binary.LittleEndian.Uint64(b[8*j:])
		default:
			id = uint64(b[j])
		}
		if id >= uint64(s.vocab) {
			if f.format == Uint64 && int64(id) < 0 {
				return fmt.Errorf("token %d at position %d is negative: it is no id", int64(id), at+int64(j))
			}
			return fmt.Errorf("token %d at position %d is outside the vocabulary of %d: raise vocab, or use data of this tokenizer", id, at+int64(j), s.vocab)
		}
		dst[j] = int32(id)
	}
	return nil
}

// Close closes the files.
func (s *Source) Close() error {
	var errs []error
	for _, r := range s.kept {
		errs = append(errs, r.Close())
	}
	s.kept = nil
	return errors.Join(append(errs, s.close())...)
}
