package cuda

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"boost-tui/kernels/backend"
)

// ErrDamaged is wrapped when the emulated library in the cache is not as it was made; the next use makes it anew.
var ErrDamaged = errors.New("damaged")

// markEnd ends the name of the file beside a library that tells its size and hash. A disk that was full, a file system that lost what it
// had not written, and a hand that slipped leave a file under the library's name that is none.
const markEnd = ".sum"

// mark is what a file must be: its size in bytes and its hash.
func mark(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return fmt.Sprintf("%d %x\n", n, h.Sum(nil)), err
}

// check says what is wrong with the library in the cache: fs.ErrNotExist that there is none, ErrDamaged that it is not as it was made,
// anything else that it must not be used. nil notes that it is in use.
func (c *compilation) check() error {
	info, err := os.Lstat(c.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unusable(err)
	}
	if err != nil {
		return fmt.Errorf("library %s: %w", Shown(c.path), bare(err))
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is %w: it is no file", Shown(c.path), ErrDamaged)
	}
	if _, err := backend.Trusted(c.path); err != nil {
		return remedied("library "+Shown(c.path)+" is not used", err)
	}
	is, err := mark(c.path)
	if err != nil {
		return remedied("library "+Shown(c.path)+" cannot be read", bare(err))
	}
	noted, err := regular(c.path+markEnd, int64(len(is)))
	if err != nil || noted != is {
		return fmt.Errorf("%s is %w: it is not what was compiled", Shown(c.path), ErrDamaged)
	}
	now := time.Now()
	_ = os.Chtimes(c.path, now, now) // a folder that cannot be written is read all the same
	return nil
}

// regular reads a small file that is one.
func regular(path string, size int64) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() != size {
		return "", ErrDamaged
	}
	data, err := os.ReadFile(path)
	return string(data), err
}

// install puts a library that was made under its name, after it is on the disk.
func (c *compilation) install(made string) error {
	text, err := mark(made)
	if err == nil {
		err = os.WriteFile(made+markEnd, []byte(text), 0o600)
	}
	for _, end := range []string{"", markEnd} {
		if err == nil {
			err = flush(made + end)
		}
		if err == nil {
			err = os.Rename(made+end, c.path+end)
		}
	}
	if err == nil {
		_ = flush(c.dir) // which not every file system knows; a name that is lost is made again
	}
	return err
}

// flush has a file or a folder written to the disk.
func flush(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// vacate makes room for the library: no file takes the place of a folder.
func (c *compilation) vacate() error {
	for _, end := range []string{"", markEnd} {
		if info, none := os.Lstat(c.path + end); none == nil && info.IsDir() {
			if err := os.RemoveAll(c.path + end); err != nil {
				return fmt.Errorf("%s is a folder, in the place of the compiled library: %w: remove it", Shown(c.path+end), bare(err))
			}
		}
	}
	return nil
}

// clear removes what compilations have left that were killed: nobody is at it, since the lock is held.
func (c *compilation) clear() {
	left, _ := os.ReadDir(c.dir)
	for _, e := range left {
		if strings.HasPrefix(e.Name(), making) {
			_ = os.RemoveAll(filepath.Join(c.dir, e.Name()))
		}
	}
}

// making begins the names of folders of compilations.
const making = "making-"

// Bounds of the cache: libraries of earlier versions of the program that nobody has used for a while go.
const (
	keptLibraries = 4
	keptFor       = 24 * time.Hour
)

// tidy removes libraries beyond the bounds. One that is in use is no trouble: whoever has it open keeps it.
func (c *compilation) tidy() {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	type entry struct {
		path string
		at   time.Time
	}
	var libraries []entry
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		path := filepath.Join(c.dir, e.Name())
		switch {
		case strings.HasSuffix(e.Name(), ".so") && path != c.path:
			libraries = append(libraries, entry{path, info.ModTime()})
		}
	}
	slices.SortFunc(libraries, func(a, b entry) int { return b.at.Compare(a.at) })
	for i, l := range libraries {
		if i >= keptLibraries-1 && time.Since(l.at) > keptFor || i >= 4*keptLibraries {
			_ = os.Remove(l.path)
			_ = os.Remove(l.path + markEnd)
		}
	}
}

// lockTick is how often somebody who waits for a lock looks whether it is free.
const lockTick = 100 * time.Millisecond

// lock takes a lock among programs. waits is called once where another one has it.
func lock(ctx context.Context, path string, waits func()) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("a lock for the compilation, %s: %w", Shown(path), bare(err))
	}
	for first := true; ; first = false {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = f.Close()
			return nil, fmt.Errorf("a lock for the compilation, %s: %w", Shown(path), err)
		}
		if first {
			waits()
		}
		select {
		case <-time.After(lockTick):
		case <-ctx.Done():
			_ = f.Close()
			return nil, fmt.Errorf("wait for another program that compiles it: %w", context.Cause(ctx))
		}
	}
}
