package data

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"boost-tui/internal/regular"
)

// Bounds of a source.
const (
	maxFiles = 200_000
	maxBytes = 1 << 50
	// keptOpen is how many files of a source stay open; beyond it a file is opened for each read.
	keptOpen = 128
)

// reader is a file that samples are read from.
type reader interface {
	io.ReaderAt
	io.Closer
}

// list gives the regular files below the root of fsys, in order of their paths. Names that begin with
// a dot are left out (version control, editors), and so is every symbolic link: a link could lead
// anywhere, or make a file count twice.
func list(fsys fs.FS) ([]string, error) {
	var paths []string
	err := fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path != "." && strings.HasPrefix(d.Name(), ".") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		if len(paths) == maxFiles {
			return fmt.Errorf("more than %d files: name a smaller folder, or join them into one file", maxFiles)
		}
		paths = append(paths, path)
		return nil
	})
	slices.Sort(paths)
	return paths, err
}

// openRegular opens a file for reading at positions. It refuses what is no regular file without
// blocking on it.
func openRegular(path string) (reader, fs.FileInfo, error) {
	f, err := regular.Follow(path)
	if errors.Is(err, regular.ErrNotRegular) {
		err = fmt.Errorf("%w, nor a folder of files", err)
	}
	if err != nil {
		return nil, nil, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return mapFile(f, st.Size()), st, nil
}

// openIn opens a file below fsys.
func openIn(fsys fs.FS, path string) (reader, fs.FileInfo, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, nil, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	r, ok := f.(reader)
	if !ok || !st.Mode().IsRegular() {
		return nil, nil, errors.Join(fmt.Errorf("%s is not a regular file any more", path), f.Close())
	}
	if file, ok := f.(*os.File); ok {
		return mapFile(file, st.Size()), st, nil
	}
	return r, st, nil
}
