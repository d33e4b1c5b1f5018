package cuda

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A look at a place for the library says what compiling there would say, and leaves nothing.
func TestAPlaceIsLookedAt(t *testing.T) {
	dir := t.TempDir()
	open, sticky := filepath.Join(dir, "open"), filepath.Join(dir, "sticky")
	for path, mode := range map[string]os.FileMode{open: 0o777, sticky: 0o777 | os.ModeSticky} {
		if err := errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "file"), nil, 0o600), os.Symlink("gone", filepath.Join(dir, "dangling"))); err != nil {
		t.Fatal(err)
	}
	for cache, want := range map[string]string{
		filepath.Join(dir, "a", "b"):        "",
		dir:                                 "",
		sticky:                              "",
		open:                                open + " may be written by others (drwxrwxrwx); chmod go-w " + open + ", or set XDG_CACHE_HOME",
		filepath.Join(open, "a"):            open + " may be written by others",
		filepath.Join(dir, "file"):          "not a directory; set XDG_CACHE_HOME to a folder that you may write to",
		filepath.Join(dir, "dangling"):      "; set XDG_CACHE_HOME to a folder that you may write to",
		"/proc/nope":                        "; set XDG_CACHE_HOME to a folder that you may write to",
		"relative":                          "relative",
		filepath.Join(dir, "bad\x1b\nname"): "",
	} {
		t.Setenv("XDG_CACHE_HOME", cache)
		_, err := Compiled()
		if want == "" && (!errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrPlace)) {
			t.Errorf("%q: %v", cache, err)
		}
		if want != "" && (!errors.Is(err, ErrPlace) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v does not say %q", cache, err, want)
		}
		if left, _ := filepath.Glob(filepath.Join(cache, "*", "..", "*")); len(left) > 0 && cache != dir {
			t.Errorf("%q: left %q", cache, left)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 4 {
		t.Errorf("left %v, %v", left, err)
	}
}

// A library that is named and is no file is said to be none, before anything else is said of it.
func TestNamesOfNoFile(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{dir: ErrNoLibrary.Error() + ": $" + EnvLibrary + " is " + dir + ": it is a folder; name the file in it", "/dev/null": "it is no file",
		filepath.Join(dir, "none"): "no such file"} {
		t.Setenv(EnvLibrary, path)
		if _, err := Find(); !errors.Is(err, ErrNoLibrary) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}
