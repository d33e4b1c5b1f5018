package runner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"boost-tui/runner/protocol"
)

func TestRemove(t *testing.T) {
	s := NewStore(t.TempDir())
	outside := t.TempDir()
	put(t, filepath.Join(outside, "precious"), "x")
	r, dir := create(t, s, "x")
	finish(t, dir)
	// Links inside the run: they go, what they point to stays.
	for name, to := range map[string]string{"link": outside, "log/link": outside, "steps/file": filepath.Join(outside, "precious")} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Remove(r.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(outside, "precious")); err != nil {
		t.Error(err)
	}
}

func TestRemoveRefuses(t *testing.T) {
	s := NewStore(t.TempDir())
	elsewhere := NewStore(t.TempDir())
	other, otherDir := create(t, elsewhere, "elsewhere")
	finish(t, otherDir)
	running, _ := create(t, s, "pending")
	for name, c := range map[string]struct {
		make func(dir string) error
		want string
	}{
		"a-link": {func(dir string) error { return os.Symlink(otherDir, dir) }, ""},
		"no-run": {func(dir string) error { return os.Mkdir(dir, 0o700) }, "not a run"},
		"run-link": {func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.Symlink(filepath.Join(otherDir, protocol.RunFile), filepath.Join(dir, protocol.RunFile)))
		}, "link"},
		"plain": {func(dir string) error { return os.WriteFile(dir, nil, 0o600) }, ""},
		"foreigner": {func(dir string) error {
			return errors.Join(os.CopyFS(dir, os.DirFS(otherDir)), os.Chown(dir, 12345, -1))
		}, "another user"},
	} {
		dir := s.Dir(name)
		if err := c.make(dir); err != nil {
			if name == "foreigner" {
				t.Logf("%s left out: %v", name, err)
				continue
			}
			t.Fatal(err)
		}
		if err := s.Remove(name); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(dir); err != nil {
			t.Errorf("%s is gone: %v", name, err)
		}
	}
	for _, id := range []string{running.ID, ".", "..", "", otherDir, "../" + filepath.Base(elsewhere.Root) + "/" + other.ID} {
		if err := s.Remove(id); err == nil {
			t.Errorf("%q removed", id)
		}
	}
	if in, err := elsewhere.Load(other.ID); err != nil || in.State != Finished {
		t.Errorf("the other store's run: %s, %v", in.State, err)
	}
}
