package ssh

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"
)

// What a killed process has left is removed, what is in use or young is not.
func TestTidyControl(t *testing.T) {
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	parent, old := t.TempDir(), time.Now().Add(-2*controlStale)
	folder := func(pid int, name string) string {
		dir := filepath.Join(parent, controlPrefix+strconv.Itoa(pid)+"-"+name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	listen := func(dir string) *net.UnixListener {
		ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		return ln
	}
	left, own, young, used := folder(gone.Process.Pid, "1"), folder(os.Getpid(), "2"), folder(gone.Process.Pid, "3"), folder(gone.Process.Pid, "4")
	dead := listen(left)
	dead.SetUnlinkOnClose(false)
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	defer listen(used).Close()
	for _, dir := range []string{left, own, used} {
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("XDG_RUNTIME_DIR", parent)
	if dirs := Left(); !slices.Contains(dirs, left) || slices.Contains(dirs, own) || slices.Contains(dirs, young) || slices.Contains(dirs, used) {
		t.Errorf("left are %v", dirs)
	}
	tidyControl(parent)
	for dir, want := range map[string]bool{left: false, own: true, young: true, used: true} {
		if _, err := os.Lstat(dir); (err == nil) != want {
			t.Errorf("%s: there %v, want %v", filepath.Base(dir), err == nil, want)
		}
	}
}
