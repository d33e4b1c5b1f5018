package data

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

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
		f.start, f.tokens, f.format, f.assumed = l.start, l.tokens, l.format, l.assumed
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
	if !slices.ContainsFunc(s.files, func(f file) bool { return f.format == Uint64 || s.vocab <= 1<<(8*f.format.bytes())-1 }) {
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
