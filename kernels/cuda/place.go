package cuda

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"boost-tui/kernels/backend"
)

// ErrPlace is wrapped when the folder of the emulated library in the user's cache cannot be used: that is for the user to mend.
var ErrPlace = errors.New("the folder for the compiled library will not do")

// placeError is an ErrPlace that says what is wrong, and what to do.
type placeError struct{ error }

// Is makes it an ErrPlace.
func (e placeError) Is(target error) bool { return target == ErrPlace }
func (e placeError) Unwrap() error        { return e.error }

// unusable says what is wrong with the cache.
func unusable(err error) error { return remedied(ErrPlace.Error(), err) }

// remedied says what does not do, why, and what to do.
func remedied(what string, err error) error {
	remedy := "set XDG_CACHE_HOME to a folder that you may write to"
	var others *backend.UntrustedError
	if errors.As(err, &others) {
		remedy = "set XDG_CACHE_HOME to a folder of your own"
		if !others.Foreign && others.Mode&os.ModeSticky == 0 {
			remedy = "chmod go-w " + Shown(others.Path) + ", or " + remedy
		}
	}
	return placeError{fmt.Errorf("%s: %w; %s", what, shown{err}, remedy)}
}

// place says why a library cannot be put into the cache. It leaves nothing there: a file in the folder, or in the nearest one above it
// that is there, tells whether one can be made, which rights do not tell of every file system.
func (c *compilation) place() error {
	for dir := c.dir; ; dir = filepath.Dir(dir) {
		probe, err := os.MkdirTemp(dir, making)
		switch {
		case err == nil:
			if err = os.Remove(probe); err == nil || errors.Is(err, fs.ErrNotExist) { // who compiles clears the folder
				err = backend.TrustedFolder(c.dir)
			}
		case errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir):
			if _, there := os.Lstat(dir); errors.Is(there, fs.ErrNotExist) {
				continue
			}
			err = fmt.Errorf("nothing can be made in %s: %w", dir, bare(err)) // as in /proc
		}
		if err != nil {
			return unusable(err)
		}
		return nil
	}
}
