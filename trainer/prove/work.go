package prove

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// workPrefix begins the names of folders in which parts work.
const workPrefix = "boost-tui-prove-"

// work is such a folder. Whoever works in it holds its lock, so that those of programs that were killed can be told.
type work struct {
	dir  string
	lock *os.File
}

// newWork makes one in a folder for temporary files, after it has removed what killed programs of this user left there.
func newWork(temporary string) (*work, error) {
	tidy(temporary)
	for range 100 {
		dir, err := os.MkdirTemp(temporary, workPrefix)
		if err != nil {
			return nil, fmt.Errorf("a folder to work in: %w", err)
		}
		// Between these lines another program may take it for one that was left.
		if lock, err := lockFolder(dir); err == nil {
			return &work{dir, lock}, nil
		} else if !errors.Is(err, errHeld) {
			return nil, errors.Join(fmt.Errorf("a folder to work in: %w", err), os.RemoveAll(dir))
		}
	}
	return nil, fmt.Errorf("a folder to work in: other programs remove those in %s as soon as they are made", temporary)
}

// remove ends the work.
func (w *work) remove() error { return errors.Join(os.RemoveAll(w.dir), w.lock.Close()) }

// errHeld says that somebody else works in a folder, or has removed it.
var errHeld = errors.New("it is another's")

// lockFolder takes the lock of a folder that is there, of this user's.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errHeld
	}
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errHeld
	}
	if err == nil {
		err = stillThere(f, dir)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// stillThere says whether a folder that is locked now has its name yet, and is this user's.
func stillThere(f *os.File, dir string) error {
	ours, err := f.Stat()
	if err != nil {
		return err
	}
	named, err := os.Lstat(dir)
	if err != nil || !os.SameFile(ours, named) {
		return errHeld
	}
	if st, ok := ours.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Getuid() {
		return errHeld
	}
	return nil
}

// tidy removes the folders in which nobody works any more. What cannot be removed harms nobody.
func tidy(temporary string) {
	left, err := filepath.Glob(filepath.Join(temporary, workPrefix+"*"))
	if err != nil {
		return // of a folder whose name is a pattern
	}
	for _, dir := range left {
		if lock, err := lockFolder(dir); err == nil {
			_ = (&work{dir, lock}).remove()
		}
	}
}
