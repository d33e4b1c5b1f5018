package regular

import (
	"crypto/rand"
	"io/fs"
	"os"
	"path/filepath"
)

// Aside makes a new file in a folder, to be renamed when it is complete, with a name that begins so. Unlike a temporary file it
// is for whom the user's umask lets it be.
func Aside(dir, prefix string) (*os.File, error) {
	const mode fs.FileMode = 0o644 // less the umask
	return os.OpenFile(filepath.Join(dir, prefix+rand.Text()), os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
}
