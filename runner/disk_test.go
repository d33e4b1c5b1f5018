package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"boost-tui/runner/protocol"

	"golang.org/x/sys/unix"
)

// small mounts a file system of so many KiB, which takes root.
func small(t *testing.T, kib int, flags uintptr) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", flags, fmt.Sprintf("size=%dk", kib)); err != nil {
		t.Skipf("a small file system cannot be mounted here (%v): run this as root", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestFullBeforeLaunch: a run that cannot be written down does not start and leaves nothing.
func TestFullBeforeLaunch(t *testing.T) {
	for _, kib := range []int{4, 16, 48} {
		root := small(t, kib, 0)
		s := NewStore(root)
		_, err := Launch(t.Context(), s, testExperiment("ok", 1), LaunchOptions{})
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "--runs") {
			t.Errorf("%d KiB: %v", kib, err)
		}
		if entries, _ := os.ReadDir(root); len(entries) != 0 {
			t.Errorf("%d KiB: left %v", kib, entries)
		}
	}
}

// TestAnySize: at whichever write the disk is full, the run ends with a record that says so.
func TestAnySize(t *testing.T) {
	for kib := 60; kib <= 100; kib += 4 {
		s := NewStore(small(t, kib, 0))
		h, err := Launch(t.Context(), s, testExperiment("ok", 1), LaunchOptions{})
		if err != nil {
			if !errors.Is(err, syscall.ENOSPC) && !strings.Contains(err.Error(), fullDisk) {
				t.Errorf("%d KiB: %v", kib, err)
			}
			continue
		}
		in, err := h.Wait(t.Context())
		if err != nil || in.Err != nil || in.State != Finished && (in.State != Failed || !strings.Contains(in.Cause, fullDisk) && !strings.Contains(in.Cause, syscall.ENOSPC.Error())) {
			t.Errorf("%d KiB: %s: %s, %v, %v", kib, in.State, in.Cause, in.Err, err)
		}
	}
}

// TestFullMidRun: the run fails, says why, and is recorded whole although nothing is free; its neighbour stays as it is.
func TestFullMidRun(t *testing.T) {
	root := small(t, 1024, 0)
	s := NewStore(root)
	neighbour, _ := create(t, s, "neighbour")
	h, err := Launch(t.Context(), s, testExperiment("fill:1", 2), LaunchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	in := wait(t, h)
	if in.State != Failed || in.Result == nil || !strings.Contains(in.Cause, "disk that holds the runs is full") {
		t.Fatalf("%s: %s, %v", in.State, in.Cause, in.Err)
	}
	// The full disk may meet a write of rank 0 before that of the rank that fills it.
	first := strings.Contains(in.Cause, "rank 1")
	if e, err := protocol.ReadExit(h.Dir, 1); err != nil || first && e.Step != 3 {
		t.Errorf("record %+v, %v", e, err)
	}
	if n, err := s.Load(neighbour.ID); err != nil || n.Err != nil || n.State != Pending {
		t.Errorf("neighbour: %+v, %v", n, err)
	}
	if err := s.Remove(h.Run.ID); err != nil {
		t.Errorf("cannot be removed from a full disk: %v", err)
	}
}

func TestReadOnly(t *testing.T) {
	root := small(t, 64, unix.MS_RDONLY)
	for _, r := range []string{root, filepath.Join(root, "below")} {
		_, err := Launch(t.Context(), NewStore(r), testExperiment("ok", 1), LaunchOptions{})
		if !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), r) || !strings.Contains(err.Error(), "--runs") {
			t.Errorf("%s: %v", r, err)
		}
	}
}

// TestRootIsAFile: what is not a folder is said, not replaced.
func TestRootIsAFile(t *testing.T) {
	root := filepath.Join(t.TempDir(), "runs")
	put(t, root, "mine")
	if _, err := Launch(t.Context(), NewStore(root), testExperiment("ok", 1), LaunchOptions{}); err == nil || !strings.Contains(err.Error(), root) {
		t.Error(err)
	}
	if _, errs := NewStore(root).List(t.Context()); len(errs) != 1 {
		t.Errorf("listing a file: %v", errs)
	}
}
