package backend

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Trusted resolves links and verifies that a library and every folder above it belong to the user or root, and that
// nobody else may put another in its place.
func Trusted(path string) (string, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	for p := path; ; p = filepath.Dir(p) {
		st, err := os.Stat(p)
		if err != nil {
			return "", err
		}
		owner, ok := st.Sys().(*syscall.Stat_t)
		if !ok || owner.Uid != 0 && int(owner.Uid) != os.Getuid() {
			return "", fmt.Errorf("%s belongs to somebody else", p)
		}
		// In a folder like /tmp everybody may write, and nobody may touch what is another's. Beside the library itself they
		// could still put what it loads.
		sticky := st.Mode()&os.ModeSticky != 0 && p != path && p != filepath.Dir(path)
		open := st.Mode().Perm()&0o002 != 0 || st.Mode().Perm()&0o020 != 0 && owner.Gid != 0 && int(owner.Gid) != os.Getgid()
		if open && !sticky {
			return "", fmt.Errorf("%s may be written by others (%s)", p, st.Mode())
		}
		if p == filepath.Dir(p) {
			return path, nil
		}
	}
}
