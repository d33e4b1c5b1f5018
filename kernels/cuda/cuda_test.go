package cuda

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"boost-tui/kernels"
)

// library compiles the test library.
func library(t *testing.T, flags ...string) string {
	t.Helper()
	cc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc")
	}
	path := filepath.Join(t.TempDir(), LibraryName)
	args := append([]string{"-shared", "-fPIC", "-I../backend", "-o", path, "testdata/library.c"}, flags...)
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

func TestLibrariesThatWillNotDo(t *testing.T) {
	for name, c := range map[string]struct {
		flags []string
		want  []string
	}{
		"no symbol":  {[]string{"-DNO_SYMBOL"}, []string{"bt_backend", "not boost-tui's"}},
		"too old":    {[]string{"-DOLD"}, []string{"another version", "ABI is 3, not 4", "make cuda"}},
		"refuses":    {[]string{"-DREFUSE=0"}, []string{"another version", "none for version 4 of the ABI", "make cuda"}},
		"small":      {[]string{"-DSMALL"}, []string{"another version", "its table has 16 bytes, of which version 4", "make cuda"}},
		"lacks":      {[]string{"-DLACKS"}, []string{"lacks launch", "make cuda"}},
		"unresolved": {[]string{"-DUNRESOLVED"}, []string{"cannot be opened", "not_there_at_all"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := library(t, c.flags...)
			_, err := Load(path, Name)
			if err == nil {
				t.Fatal("it was loaded")
			}
			for _, want := range append(c.want, path, "cuda device") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %q", err)
			}
		})
	}
	if _, err := Load(filepath.Join(t.TempDir(), "no.so"), Name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing one: %v", err)
	}
	if _, err := Load("relative.so", Name); err == nil {
		t.Error("a relative path was taken")
	}
	text := filepath.Join(t.TempDir(), "text.so")
	if err := os.WriteFile(text, []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(text, Name); err == nil || !strings.Contains(err.Error(), "cannot be opened") {
		t.Errorf("a text: %v", err)
	}
	if err := os.Chmod(text, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(text, Name); err == nil || !strings.Contains(err.Error(), "written by others") || strings.Count(err.Error(), text) < 2 {
		t.Errorf("one that others may write: %v", err)
	}
}

func TestLibraryThatWillDo(t *testing.T) {
	l, err := Load(library(t), Name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := l.Probe()
	if err != nil {
		t.Fatal(err)
	}
	if p.Devices != 1 || len(p.Findings) != 2 || p.Findings[0].Lacks != "" || !strings.Contains(p.Findings[1].Lacks, "more than one rank") {
		t.Errorf("probe: %+v", p)
	}
	if _, err := l.Open(Options{Device: 1}); !errors.Is(err, kernels.ErrInvalid) || !strings.Contains(err.Error(), "1 GPU") {
		t.Errorf("device 1: %v", err)
	}
	if _, err := l.Open(Options{NCCL: strings.Repeat("x", 2000)}); !errors.Is(err, kernels.ErrInvalid) {
		t.Errorf("a long path: %v", err)
	}
	d, err := l.Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if i := d.Info(); i.Backend != Name {
		t.Errorf("info: %+v", i)
	}
	if _, err := d.Alloc("test", 64, false); !errors.Is(err, kernels.ErrUnsupported) || !strings.Contains(err.Error(), "does nothing") {
		t.Errorf("alloc: %v", err)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("XDG_DATA_HOME", filepath.Join(dir, "data"))
	t.Setenv(EnvLibrary, "")
	_, err := Find()
	if !errors.Is(err, ErrNoLibrary) || !strings.Contains(err.Error(), filepath.Join(dir, "build", LibraryName)) ||
		!strings.Contains(err.Error(), filepath.Join(dir, "data", "boost-tui", LibraryName)) {
		t.Errorf("none: %v", err)
	}
	for _, p := range []string{"data/boost-tui", "build"} { // the later ones come first
		if err := os.MkdirAll(p, 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, p, LibraryName)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := Find(); err != nil || got != path {
			t.Errorf("got %s, %v; want %s", got, err, path)
		}
	}
	t.Setenv(EnvLibrary, filepath.Join(dir, "none.so"))
	if _, err := Find(); !errors.Is(err, ErrNoLibrary) || !strings.Contains(err.Error(), EnvLibrary) {
		t.Errorf("a variable that names nothing: %v", err)
	}
}

// A path is shown without what a terminal would obey, whatever is wrong with it, and a home that is relative holds no library.
func TestFindAtOddPlaces(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a\x1b[2J\nb")
	t.Setenv("HOME", "relative")
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv(EnvLibrary, "")
	for _, p := range places() {
		if !filepath.IsAbs(p) {
			t.Errorf("%s", p)
		}
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, LibraryName)
	t.Setenv(EnvLibrary, path)
	_, none := Find()
	t.Chdir(dir)
	t.Setenv(EnvLibrary, "")
	_, nowhere := Find()
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	_, open := Load(path, Name)
	t.Setenv("XDG_CACHE_HOME", dir)
	_, cache := Compile(t.Context(), nil)
	for name, err := range map[string]error{"none": none, "nowhere": nowhere, "open to all": open, "a cache": cache} {
		if err == nil || strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%s: %q", name, err)
		}
	}
}
