package regular

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Aside makes a new file in a folder, to be renamed when it is complete, with a name that begins so. Unlike a temporary file it
// is for whom the user's umask lets it be.
func Aside(dir, prefix string) (*os.File, error) {
	const mode fs.FileMode = 0o644 // less the umask
	return os.OpenFile(filepath.Join(dir, prefix+rand.Text()), os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
}

// PlaceNew gives a complete file a name that must be free, in the same folder: errors.Is(err, fs.ErrExist) when it is not. Of
// several that try at once one succeeds.
func PlaceNew(aside, path string) error {
	err := unix.Renameat2(unix.AT_FDCWD, aside, unix.AT_FDCWD, path, unix.RENAME_NOREPLACE)
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	if err := os.Link(aside, path); err != nil { // NFS knows no such rename
		return err
	}
	return os.Remove(aside)
}
