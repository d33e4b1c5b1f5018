package queue

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"boost-tui/planner"
	"boost-tui/sweeps"

	"golang.org/x/sys/unix"
)

func availableBytes(t *testing.T) int64 {
	t.Helper()
	n := planner.ThisMachine().AvailableBytes
	if n <= 0 {
		t.Skip("nobody knows how much memory is available here")
	}
	return n
}

// smallDisk mounts a file system of so many KiB, which takes root.
func smallDisk(t *testing.T, kib int) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dk", kib)); err != nil {
		t.Skipf("a small file system cannot be mounted here (%v): run this as root", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestFullDisk: a run fills the disk. The sweep stops, and when there is room again it goes on with that very point.
func TestFullDisk(t *testing.T) {
	b := pointsIn(t, smallDisk(t, 2048), 3, nil)
	b.fakes("1 ok", "2 fill-once")
	st := b.run()
	if st.Phase != sweeps.PhaseStopped || !strings.Contains(st.Cause, "disk") || seed(st, 2).Status != sweeps.Queued {
		t.Fatalf("%s: %s; the point is %s: %+v", st.Phase, st.Cause, seed(st, 2).Status, seed(st, 2).Attempts)
	}
	if err := os.Remove(filepath.Join(b.runs.Root, "ballast")); err != nil {
		t.Fatal(err)
	}
	if err := b.sweep.Resume("ada"); err != nil {
		t.Fatal(err)
	}
	if st = b.run(); st.Count(sweeps.Finished) != 3 {
		t.Errorf("%s: %d finished", st.Phase, st.Count(sweeps.Finished))
	}
}

// TestFullFromTheStart: nothing is started of which nobody could keep a record.
func TestFullFromTheStart(t *testing.T) {
	b := pointsIn(t, smallDisk(t, 1024), 2, nil)
	if err := os.MkdirAll(b.runs.Root, 0o700); err != nil {
		t.Fatal(err)
	}
	fill(b.runs.Root)
	err := Run(t.Context(), b.sweep, b.o)
	st := b.state()
	if st.Phase != sweeps.PhaseStopped && err == nil || st.Count(sweeps.Queued) != 2 {
		t.Fatalf("%v; %s: %s", err, st.Phase, st.Cause)
	}
	t.Logf("%v; %s: %s", err, st.Phase, st.Cause)
	if err := os.Remove(filepath.Join(b.runs.Root, "ballast")); err != nil {
		t.Fatal(err)
	}
	if err := b.sweep.Resume("ada"); err != nil {
		t.Fatal(err)
	}
	b.run()
	b.once(2)
}

// TestFullAtAnyWrite: at whichever write the disk is full, the sweep stops, and with more room it comes to its end.
func TestFullAtAnyWrite(t *testing.T) {
	for kib := 40; kib <= 208; kib += 8 {
		t.Run(fmt.Sprint(kib), func(t *testing.T) {
			disk := smallDisk(t, 8192)
			b := pointsIn(t, disk, 3, nil)
			resize(t, disk, kib)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := Run(ctx, b.sweep, b.o)
			st := b.state()
			t.Logf("%v; %s: %s; %d finished", err, st.Phase, st.Cause, st.Count(sweeps.Finished))
			if err == nil && st.Phase != sweeps.PhaseStopped && st.Phase != sweeps.PhaseFinished || st.Count(sweeps.Failed) > 0 {
				t.Errorf("%v; %s: %s, %d failed", err, st.Phase, st.Cause, st.Count(sweeps.Failed))
			}
			resize(t, disk, 8192)
			if err := b.sweep.Resume("ada"); err != nil {
				t.Fatal(err)
			}
			if st = b.run(); st.Count(sweeps.Finished) != 3 {
				t.Errorf("%s: %d finished", st.Phase, st.Count(sweeps.Finished))
			}
		})
	}
}

func resize(t *testing.T, disk string, kib int) {
	t.Helper()
	if err := unix.Mount("tmpfs", disk, "tmpfs", unix.MS_REMOUNT, fmt.Sprintf("size=%dk", kib)); err != nil {
		t.Skipf("a file system cannot be resized here: %v", err)
	}
}
