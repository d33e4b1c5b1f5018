package data

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// mapped is a file in memory: its pages are the system's, read when they are touched, and shared by all ranks of a host.
type mapped struct {
	f    *os.File
	data []byte
}

// mapFile maps a file of so many bytes.
func mapFile(f *os.File, size int64) reader {
	if size == 0 {
		return f
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return f // what cannot be mapped can be read all the same
	}
	_ = unix.Madvise(data, unix.MADV_RANDOM) // advice
	return &mapped{f, data}
}

// ReadAt implements io.ReaderAt. What lies behind the end of a file that has become shorter is not there any more, though a part of it
// may still be mapped.
func (m *mapped) ReadAt(b []byte, at int64) (n int, err error) {
	st, err := m.f.Stat()
	if err != nil {
		return 0, err
	}
	size := min(st.Size(), int64(len(m.data)))
	if at < 0 || at >= size {
		return 0, io.EOF
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch p := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }: // a page that could not be read
			n, err = 0, fmt.Errorf("read at byte %d: %w", at, io.ErrUnexpectedEOF)
		default:
			panic(p)
		}
	}()
	if n = copy(b, m.data[at:size]); n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// Close implements io.Closer.
func (m *mapped) Close() error {
	data := m.data
	m.data = nil
	return errors.Join(unix.Munmap(data), m.f.Close())
}
