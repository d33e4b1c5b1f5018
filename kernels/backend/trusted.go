package backend

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// UntrustedError says that somebody else owns a file or a folder of a library, or may write to it.
type UntrustedError struct {
	Path    string
	Mode    os.FileMode
	Foreign bool // it is somebody else's
}

// Error says of which.
func (e *UntrustedError) Error() string {
	if e.Foreign {
		return e.Path + " belongs to somebody else"
	}
	return fmt.Sprintf("%s may be written by others (%s)", e.Path, e.Mode)
}

// Trusted resolves links and verifies that a library and every folder above it belong to the user or root, and that
// nobody else may put another in its place. What is wrong is an *UntrustedError.
func Trusted(path string) (string, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	// Beside the library itself others could still put what it loads.
	if err := trust(path, path, filepath.Dir(path)); err != nil {
		return "", err
	}
	return path, nil
}

// TrustedFolder is Trusted for a library that is yet to be put into a folder, which need not be there either.
func TrustedFolder(path string) error {
	for p := path; ; p = filepath.Dir(p) {
		real, err := filepath.EvalSymlinks(p)
		switch {
		case err == nil && p == path:
			return trust(real, real)
		case err == nil:
			return trust(real)
		case !errors.Is(err, fs.ErrNotExist) || p == filepath.Dir(p):
			return err
		}
	}
}

// trust verifies a path and all above it. In a folder like /tmp everybody may write, and nobody may touch what is another's: that
// will do, but for those that are strictly the user's.
func trust(path string, strictly ...string) error {
	for p := path; ; p = filepath.Dir(p) {
		st, err := os.Stat(p)
		if err != nil {
			return err
		}
		owner, ok := st.Sys().(*syscall.Stat_t)
		if !ok || owner.Uid != 0 && int(owner.Uid) != os.Getuid() {
			return &UntrustedError{Path: p, Mode: st.Mode(), Foreign: true}
		}
		sticky := st.Mode()&os.ModeSticky != 0
		for _, s := range strictly {
			sticky = sticky && p != s
		}
		open := st.Mode().Perm()&0o002 != 0 || st.Mode().Perm()&0o020 != 0 && owner.Gid != 0 && int(owner.Gid) != os.Getgid()
		if open && !sticky {
			return &UntrustedError{Path: p, Mode: st.Mode()}
		}
		if p == filepath.Dir(p) {
			return nil
		}
	}
}
