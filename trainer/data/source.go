package data

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// Format is how the bytes of a source become tokens.
type Format uint8

// Formats.
const (
	Bytes  Format = iota // each byte is a token
	Uint16               // two bytes, little-endian
	Uint32               // four
)

// bytes is the size of a token.
func (f Format) bytes() int64 {
	switch f {
	case Uint16:
		return 2
	case Uint32:
		return 4
	}
	return 1
}

func (f Format) String() string { return [...]string{"bytes", "uint16", "uint32"}[f] }

// formatOf reads the name of a format of tokens; auto and nothing are none.
func formatOf(dtype string) (f Format, known bool, err error) {
	switch dtype {
	case "", "auto":
		return Bytes, false, nil
	case "uint16", "u2", "<u2":
		return Uint16, true, nil
	case "uint32", "u4", "<u4", "int32", "<i4": // ids are not negative
		return Uint32, true, nil
	}
	return Bytes, false, fmt.Errorf("tokens of type %q: uint16 and uint32 are read", dtype)
}

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
	at     int64 // position of its first token in the sequence
	tokens int64
	start  int64 // bytes before its first token
	size   int64 // in bytes, when the source was opened
}

// scanLimit is how many tokens Open verifies against a vocabulary that they could exceed. What lies
// beyond is verified when it is read.
const scanLimit = 16 << 20

// Open opens a text file, a folder (all regular files below it, in order of path), a .bin or .npy file of
// tokens or a folder of such. The model must know every token (vocab), and the source must
// hold at least one sample of need tokens. Errors name the file, and the token where it is one.
func Open(path string, vocab int, need int64) (*Source, error) { return open(path, vocab, need, "") }

// open is Open; dtype is the type of tokens in .bin files, where it is known.
func open(path string, vocab int, need int64, dtype string) (*Source, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	if st.IsDir() {
		return openFolder(path, vocab, need, dtype)
	}
	s := &Source{name: path, vocab: vocab, dtype: dtype, kept: map[int]reader{}, close: func() error { return nil }, open: openRegular}
	s.tokenized = isTokens(path)
	return s.index([]string{path}, need)
}

func openFolder(path string, vocab int, need int64, dtype string) (*Source, error) {
	// A Root never leaves its folder, whatever happens to the links below it during the run.
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	return openFS(root.FS(), path, vocab, need, dtype, root.Close)
}

// OpenFS opens all files of a file system, as Open opens a folder. name is what errors call it.
func OpenFS(fsys fs.FS, name string, vocab int, need int64) (*Source, error) {
	return openFS(fsys, name, vocab, need, "", func() error { return nil })
}

func openFS(fsys fs.FS, name string, vocab int, need int64, dtype string, closer func() error) (*Source, error) {
	s := &Source{name: name, vocab: vocab, dtype: dtype, kept: map[int]reader{}, close: closer,
		open: func(p string) (reader, fs.FileInfo, error) { return openIn(fsys, p) }}
	paths, err := list(fsys)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("data: folder %s: %w", name, err), s.Close())
	}
	paths = slices.DeleteFunc(paths, func(p string) bool { // what describes a file of tokens is none itself
		of, ok := strings.CutSuffix(p, sidecarSuffix)
		return ok && isTokens(of)
	})
	bins := 0
	for _, p := range paths {
		if isTokens(p) {
			bins++
		}
	}
	switch {
	case len(paths) == 0:
		err = fmt.Errorf("data: folder %s holds no regular files", name)
	case bins == len(paths):
		s.tokenized = true
	case bins > 0:
		err = fmt.Errorf("data: folder %s holds %d .bin files (or .npy) of tokens among %d others: name one kind", name, bins, len(paths)-bins)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s.index(paths, need)
}

func isTokens(path string) bool {
	ext := filepath.Ext(path)
	return strings.EqualFold(ext, ".bin") || isArray(path)
}

func isArray(path string) bool { return strings.EqualFold(filepath.Ext(path), ".npy") }

// index finds out what each file holds. It closes the source when that fails.
func (s *Source) index(paths []string, need int64) (*Source, error) {
	for i, p := range paths {
		if err := s.add(i, p); err != nil {
			return nil, errors.Join(fmt.Errorf("data: %s: %w", s.where(p), err), s.Close())
		}
	}
	var err error
	switch {
	case s.tokens == 0:
		err = fmt.Errorf("data: %s is empty", s.name)
	case s.tokens < need:
		err = fmt.Errorf("data: %s holds %d tokens, and one sample takes %d (seq + 1): name more data or a smaller seq", s.name, s.tokens, need)
	default:
		err = s.scan()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Source) add(i int, path string) error {
	r, st, err := s.open(path)
	if err != nil {
		return err
	}
	f := file{path: path, at: s.tokens, tokens: st.Size(), size: st.Size()}
	if s.tokenized {
		l, err := s.layout(path, r, st.Size())
		if err != nil {
			return errors.Join(err, r.Close())
		}
		f.start, f.tokens, f.format = l.start, l.tokens, l.format
	} else if st.Size() > 0 {
		// A file that can be opened need not be readable: find out now.
		if _, err := r.ReadAt(make([]byte, 1), 0); err != nil {
			return errors.Join(err, r.Close())
		}
	}
	if s.tokens > maxBytes-st.Size() {
		return errors.Join(fmt.Errorf("the data exceeds %d bytes", int64(maxBytes)), r.Close())
	}
	s.tokens += f.tokens
	s.files = append(s.files, f)
	if i < keptOpen {
		s.kept[i] = r
		return nil
	}
	return r.Close()
}

// where names a file of the source for people.
func (s *Source) where(path string) string {
	if path == s.name {
		return path
	}
	return s.name + "/" + path
}

// scan verifies the first tokens where the format could exceed the vocabulary.
func (s *Source) scan() error {
	if !slices.ContainsFunc(s.files, func(f file) bool { return s.vocab <= 1<<(8*f.format.bytes())-1 }) {
		return nil
	}
	dst := make([]int32, 1<<16)
	for at := int64(0); at < min(s.tokens, scanLimit); at += int64(len(dst)) {
		if err := s.Read(dst[:min(int64(len(dst)), s.tokens-at)], at); err != nil {
			return err
		}
	}
	return nil
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
		var id uint32
		switch f.format {
		case Uint16:
			id = uint32(binary.LittleEndian.Uint16(b[2*j:]))
		case Uint32:
			id = binary.LittleEndian.Uint32(b[4*j:])
		default:
			id = uint32(b[j])
		}
		if int64(id) >= int64(s.vocab) {
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
