package cuda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeCompiler is a folder with a g++ that writes down its calls and makes the test library of everything, or does what the script says.
func fakeCompiler(t *testing.T, script string, flags ...string) (dir, calls string) {
	t.Helper()
	makes := library(t, flags...)
	dir = t.TempDir()
	calls = filepath.Join(dir, "calls")
	text := "#!/bin/sh\necho \"$@\" >>" + calls + "\n" + script + "\nwhile [ $# -gt 1 ]; do [ \"$1\" = -o ] && cp " + makes + " \"$2\"; shift; done\n"
	if err := os.WriteFile(filepath.Join(dir, "g++"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	t.Setenv(EnvMode, "")
	return dir, calls
}

func links(t *testing.T, calls string) int {
	t.Helper()
	b, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(b), "-shared")
}

// Programs that want the library at the same time make one; what they leave is the library, its mark and the lock.
func TestCompiledOnce(t *testing.T) {
	dir, calls := fakeCompiler(t, "")
	cache := filepath.Join(dir, "cache", "boost-tui", "emulated")
	killed := filepath.Join(cache, "making-by-a-killed-one")
	if err := os.MkdirAll(killed, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		old := filepath.Join(cache, fmt.Sprintf("libboost_emucuda-%d.so", i))
		at := time.Now().Add(-time.Duration(i+2) * keptFor)
		if err := errors.Join(os.WriteFile(old, nil, 0o600), os.Chtimes(old, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	paths := make([]string, 4)
	for i := range paths {
		wg.Go(func() {
			var err error
			if paths[i], err = Compile(context.Background(), nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, p := range paths {
		if p != paths[0] {
			t.Errorf("paths %v", paths)
		}
	}
	if n := links(t, calls); n != 1 {
		t.Errorf("linked %d times", n)
	}
	left, err := os.ReadDir(cache)
	if err != nil || len(left) != 1+1+1+keptLibraries-1 {
		t.Errorf("left: %v, %v", left, err)
	}
	if path, err := Compiled(); err != nil || path != paths[0] {
		t.Errorf("compiled: %s, %v", path, err)
	}
	t.Setenv(EnvMode, "racecheck random=3")
	if Mode() != "random=3" {
		t.Errorf("mode %q", Mode())
	}
	other, err := Compile(context.Background(), nil)
	if err != nil || other == paths[0] || links(t, calls) != 2 {
		t.Errorf("with racecheck: %s, %v", other, err)
	}
}

// A compiler that fails is told of with what it says, and one that ends well and has made nothing that does is named, too.
func TestCompilersThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		script, flag string
		want         []string
	}{
		"full":    {"echo the disk is full >&2; exit 1", "-DFINE", []string{"the disk is full", "emulated device: compile "}},
		"killed":  {"kill -9 $$", "-DFINE", []string{"emulated device: compile ", "signal: killed"}},
		"nothing": {"exit 0", "-DFINE", []string{"emulated device: what ", "/g++ has made will not do", "it ended well and made no library"}},
		"text":    {`while [ $# -gt 1 ]; do [ "$1" = -o ] && echo text >"$2"; shift; done; exit 0`, "-DFINE", []string{"/g++ has made will not do", "cannot be opened"}},
		"crash":   {"", "-DAT_ONCE=abort()", []string{"/g++ has made will not do", "crashes (aborted) when it is opened"}},
	} {
		dir, _ := fakeCompiler(t, c.script, c.flag)
		_, err := Compile(t.Context(), nil)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v does not say %q", name, err, want)
			}
		}
		if _, err := Compiled(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: there is a library: %v", name, err)
		}
		if left, err := os.ReadDir(filepath.Join(dir, "cache", "boost-tui", "emulated")); err != nil || len(left) != 1 {
			t.Errorf("%s: left: %v, %v", name, left, err)
		}
	}
	dir, _ := fakeCompiler(t, "sleep 600")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := Compile(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one that hangs: %v", err)
	}
	t.Setenv("PATH", filepath.Join(dir, "nothing"))
	if _, err := Compile(t.Context(), nil); !errors.Is(err, ErrNoCompiler) || !strings.Contains(err.Error(), "apt-get install g++") {
		t.Errorf("none: %v", err)
	}
}

// A library that is not what was compiled is noticed, and made anew.
func TestDamagedLibraryIsMadeAnew(t *testing.T) {
	_, calls := fakeCompiler(t, "")
	path, err := Compile(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	put := func(data []byte) error { return os.WriteFile(path, data, 0o700) }
	garbled := slices.Clone(good)
	garbled[len(garbled)/2] ^= 1
	folder := func(path string) error {
		return errors.Join(os.Remove(path), os.Mkdir(path, 0o700), os.WriteFile(filepath.Join(path, "x"), nil, 0o600))
	}
	made := 1
	for name, damage := range map[string]func() error{
		"truncated":   func() error { return put(good[:len(good)/2]) },
		"empty":       func() error { return put(nil) },
		"garbled":     func() error { return put(garbled) },
		"a folder":    func() error { return folder(path) },
		"a link":      func() error { return errors.Join(os.Remove(path), os.Symlink("/etc/passwd", path)) },
		"not marked":  func() error { return os.Remove(path + markEnd) },
		"empty mark":  func() error { return os.Truncate(path+markEnd, 0) },
		"folder mark": func() error { return folder(path + markEnd) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if _, err := Compiled(); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		var said []string
		again, err := Compile(t.Context(), func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
		if made++; err != nil || again != path || links(t, calls) != made {
			t.Errorf("%s: %s, %v, made %d times", name, again, err, links(t, calls))
		}
		if len(said) != 1 || !strings.Contains(said[0], "anew") || !strings.Contains(said[0], "damaged") {
			t.Errorf("%s: %q", name, said)
		}
		if is, err := os.ReadFile(path); err != nil || !bytes.Equal(is, good) {
			t.Errorf("%s: another library, %v", name, err)
		}
	}
	if err := put(nil); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "/nowhere")
	if _, err := Compile(t.Context(), nil); !errors.Is(err, ErrNoCompiler) || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("without a compiler: %v", err)
	}
}

// What would be refused in the end is before anything is compiled.
func TestPlacesThatWillNotDo(t *testing.T) {
	dir, calls := fakeCompiler(t, "")
	cache := filepath.Join(dir, "cache", "boost-tui", "emulated")
	refused := func(name, want string) {
		t.Helper()
		_, err := Compile(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v does not say %q", name, err, want)
		}
		if _, looked := Compiled(); !errors.Is(err, ErrPlace) || !errors.Is(looked, ErrPlace) || !strings.Contains(err.Error(), "; set XDG_CACHE_HOME to ") &&
			!strings.Contains(err.Error(), "; chmod go-w "+cache) {
			t.Errorf("%s: no place, or no remedy: %v; %v", name, err, looked)
		}
	}
	if err := errors.Join(os.MkdirAll(cache, 0o700), os.Chmod(cache, 0o777)); err != nil {
		t.Fatal(err)
	}
	refused("a folder for everybody", cache+" may be written by others")
	t.Chdir(dir)
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "foo\n")
	refused("a home that is relative", `"foo\n/.cache" is not an absolute path`)
	if _, err := os.Stat("foo\n"); err == nil {
		t.Error("a folder was made")
	}
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "calls-are-none", "cache"))
	if err := os.WriteFile(filepath.Join(dir, "calls-are-none"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused("a file for a folder", "not a directory")
	if _, err := os.Stat(calls); err == nil {
		t.Error("the compiler was called")
	}
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	if err := os.Chmod(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	path, err := Compile(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	refused("a library that others may write", "library "+path+" is not used: "+path+" may be written by others")
	if _, err := Compiled(); err == nil || errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
}

// Who waits for another program says so, once.
func TestWaitsForAnotherProgram(t *testing.T) {
	dir, _ := fakeCompiler(t, "")
	cache := filepath.Join(dir, "cache", "boost-tui", "emulated")
	if err := os.MkdirAll(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	unlock, err := lock(t.Context(), filepath.Join(cache, "lock"), t.FailNow)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	_, err = Compile(t.Context(), func(format string, args ...any) {
		if said = append(said, fmt.Sprintf(format, args...)); len(said) == 1 {
			unlock()
		}
	})
	if err != nil || len(said) != 2 || !strings.HasPrefix(said[0], "waiting for another program") || !strings.HasPrefix(said[1], "compiling") {
		t.Errorf("%q, %v", said, err)
	}
}

// What a compiler keeps for a while lies where the next compilation clears up, and what it says is a line with what to do.
func TestCompilersLeaveNothingElsewhere(t *testing.T) {
	dir, calls := fakeCompiler(t, `echo "in $TMPDIR" >>"$(dirname "$0")/calls"; printf 'Assembler messages:\n\033[2JFatal: No space left on device\n' >&2; exit 1`)
	_, err := Compile(context.Background(), nil)
	if err == nil || strings.ContainsAny(err.Error(), "\n\x1b") || !strings.Contains(err.Error(), "free some space in "+filepath.Join(dir, "cache")) {
		t.Errorf("%v", err)
	}
	b, err := os.ReadFile(calls)
	if err != nil || !strings.Contains(string(b), "in "+filepath.Join(dir, "cache", "boost-tui", "emulated", making)) {
		t.Errorf("%s, %v", b, err)
	}
}

// A folder in the library's place goes before anything is compiled.
func TestFolderInTheLibrarysPlace(t *testing.T) {
	fakeCompiler(t, "exit 1")
	c, err := plan()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(c.path, "more"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := c.vacate(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(c.path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
}
