package regular

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// soon fails the test when f does not come back.
func soon(t *testing.T, name string, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(5 * time.Second):
		t.Fatalf("%s hangs", name)
		return nil
	}
}

func TestOnlyRegularFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.WriteFile(at("file"), []byte("abc"), 0o600), os.Symlink("file", at("link")), os.Symlink("fifo", at("toFIFO")),
		unix.Mkfifo(at("fifo"), 0o600), os.Mkdir(at("folder"), 0o700)); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	open := map[string]func(string) error{
		"Open":     func(p string) error { return closed(Open(p)) },
		"Follow":   func(p string) error { return closed(Follow(p)) },
		"ReadFile": func(p string) error { _, err := ReadFile(p, 3); return err },
		"write":    func(p string) error { return closed(OpenFile(p, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)) },
	}
	for name, f := range open {
		for _, bad := range []string{at("fifo"), at("folder"), at("socket"), at("toFIFO"), "/dev/zero"} {
			if err := soon(t, name, func() error { return f(bad) }); !errors.Is(err, ErrNotRegular) || !strings.Contains(err.Error(), bad) {
				t.Errorf("%s %s: %v", name, bad, err)
			}
		}
		if err := f(at("file")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := f(at("link")); (err == nil) != (name == "Follow") {
			t.Errorf("%s of a link: %v", name, err)
		}
		if err := f(at("none")); name != "write" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s of what is not there: %v", name, err)
		}
		os.Remove(at("none"))
	}
	if _, err := ReadFile(at("file"), 2); err == nil {
		t.Error("a file longer than the limit was read")
	}
}

func closed(f *os.File, err error) error {
	if err != nil {
		return err
	}
	return f.Close()
}

// What is written aside is for whom the umask lets it be.
func TestAside(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ umask, want int }{{0o077, 0o600}, {0o022, 0o644}} {
		old := unix.Umask(c.umask)
		f, err := Aside(dir, ".x.")
		unix.Umask(old)
		if err != nil {
			t.Fatal(err)
		}
		st, err := f.Stat()
		if err := errors.Join(err, f.Close()); err != nil || int(st.Mode().Perm()) != c.want {
			t.Errorf("umask %o: %v, %v", c.umask, st.Mode(), err)
		}
	}
}
