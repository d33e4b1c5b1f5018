package runner

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// The sockets of a program that was killed are found, and freed when that is asked for.
func TestCollectSockets(t *testing.T) {
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", parent)
	dir, old := filepath.Join(parent, fmt.Sprintf("boost-tui-ssh-%d-1", gone.Process.Pid)), time.Now().Add(-time.Hour)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(dir, old, old); err != nil {
		t.Fatal(err)
	}
	is := func(g Garbage) bool { return g.Path == dir && g.Kind == GarbageTemporary }
	for _, c := range []struct{ free, found, there bool }{{false, true, true}, {true, true, false}, {true, false, false}} {
		found, errs := CollectSockets(c.free)
		if _, err := os.Lstat(dir); len(errs) > 0 || slices.ContainsFunc(found, is) != c.found || (err == nil) != c.there {
			t.Errorf("%+v: %v, %v, there %v", c, found, errs, err == nil)
		}
	}
}
