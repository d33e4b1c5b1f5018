package cuda

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// LibraryName is the file that `make cuda` leaves.
const LibraryName = "libboost_cuda.so"

// EnvLibrary names the variable that holds the library's path.
const EnvLibrary = "BOOST_CUDA_LIB"

// ErrNoLibrary is wrapped when there is no libboost_cuda.so in any of its places.
var ErrNoLibrary = errors.New(LibraryName + " was not found")

// Find is the path of libboost_cuda.so: $BOOST_CUDA_LIB, else the first that is there of beside the program, build/ of the
// present folder, and the user's data folder.
func Find() (string, error) {
	if path := os.Getenv(EnvLibrary); path != "" {
		path, err := filepath.Abs(path)
		if err == nil {
			err = file(path)
		}
		if err != nil {
			return "", fmt.Errorf("%w: $%s is %s: %w", ErrNoLibrary, EnvLibrary, Shown(path), bare(err))
		}
		return path, nil
	}
	places := places()
	for _, p := range places {
		if err := file(p); err == nil {
			return p, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("%w: %s: %w", ErrNoLibrary, Shown(p), bare(err))
		}
	}
	return "", fmt.Errorf("%w: $%s is not set, and there is none at %s; make cuda builds it, without root", ErrNoLibrary, EnvLibrary, Shown(strings.Join(places, ", ")))
}

// file says why there is no file at a path, or none that could be a library.
func file(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("it is a folder; name the file in it")
	case !info.Mode().IsRegular():
		return errors.New("it is no file")
	}
	return nil
}

// bare is an error without the path, which stands beside it.
func bare(err error) error {
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		return at.Err
	}
	return err
}

// shown is an error with a path in it, for a line of people.
type shown struct{ error }

func (s shown) Error() string { return Shown(s.error.Error()) }
func (s shown) Unwrap() error { return s.error }

// places are where the library is looked for, the first first.
func places() []string {
	var list []string
	add := func(dir string, err error, more ...string) {
		if err != nil || !filepath.IsAbs(dir) { // as of a HOME that is not
			return
		}
		path := filepath.Join(append(append([]string{dir}, more...), LibraryName)...)
		for _, p := range list {
			if p == path {
				return
			}
		}
		list = append(list, path)
	}
	binary, err := os.Executable()
	add(filepath.Dir(binary), err)
	work, err := os.Getwd()
	add(work, err, "build")
	data := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) {
		var home string
		if home, err = os.UserHomeDir(); err == nil {
			data = filepath.Join(home, ".local", "share")
		}
	}
	add(data, err, "boost-tui")
	return list
}
