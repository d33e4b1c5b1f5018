package mirror

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"boost-tui/internal/regular"
)

// Sums emits the checksum of every file that grew, but for the large ones, which carry their own.
func (s *Source) Sums(emit func(Message) error) error {
	for _, name := range s.order() {
		f := s.files[name]
		if f.class != Growing || !f.seen {
			continue
		}
		sum, err := sumOf(s.path(name), f.off)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := emit(Message{Kind: Sum, Name: name, Offset: f.off, Data: sum}); err != nil {
			return err
		}
	}
	return nil
}

// sumOf is the sha256 of the first n bytes of a file.
func sumOf(path string, n int64) ([]byte, error) {
	file, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.CopyN(h, file, n); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return h.Sum(nil), nil
}

// markOf tells the first n bytes of a file from others', by both ends. io.EOF: it is shorter.
func markOf(r io.ReaderAt, n int64) ([]byte, error) {
	h := sha256.New()
	for _, at := range []int64{0, max(0, n-markBytes)} {
		b := make([]byte, min(markBytes, n-at))
		if _, err := r.ReadAt(b, at); err != nil && len(b) > 0 {
			return nil, err
		}
		h.Write(b)
	}
	return h.Sum(nil), nil
}
