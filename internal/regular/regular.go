// Package regular opens files of which nobody knows what they are: a run directory may be another user's, and a
// path may be mistyped. What is no regular file (a FIFO, a device, a socket, a folder, a link where links are not
// followed) is an error at once; opening never waits for somebody at the other end.
package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// ErrNotRegular is in the error about whatever is no regular file.
var ErrNotRegular = errors.New("is not a regular file")

// Open opens a file for reading. It follows no link: the files of a run directory are never links.
func Open(path string) (*os.File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// Follow is Open for a path that the user names, where a link is as good as what it leads to.
func Follow(path string) (*os.File, error) { return open(path, os.O_RDONLY, 0) }

// OpenFile is os.OpenFile for regular files alone; it follows no link.
func OpenFile(path string, flag int, mode fs.FileMode) (*os.File, error) {
	return open(path, flag|unix.O_NOFOLLOW, mode)
}

func open(path string, flag int, mode fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flag|unix.O_NONBLOCK|unix.O_CLOEXEC, mode)
	switch {
	case errors.Is(err, unix.ELOOP) && isLink(path):
		return nil, fmt.Errorf("%s %w: it is a link", path, ErrNotRegular)
	case errors.Is(err, unix.ENXIO), errors.Is(err, unix.EISDIR): // a socket, a FIFO that nobody reads; a folder
		return nil, fmt.Errorf("%s %w", path, ErrNotRegular)
	case err != nil:
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s %w: it is %s", path, ErrNotRegular, kind(st.Mode()))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func isLink(path string) bool {
	st, err := os.Lstat(path)
	return err == nil && st.Mode()&fs.ModeSymlink != 0
}

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case m&fs.ModeDevice != 0:
		return "a device"
	default:
		return "something else"
	}
}

// ReadFile is the content of a file of at most limit bytes, opened by Open.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	return ReadAll(f, path, limit)
}

// ReadAll reads at most limit bytes, a longer file is an error, and closes it.
func ReadAll(f io.ReadCloser, path string, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s is longer than %d bytes", path, limit)
	}
	return data, nil
}
