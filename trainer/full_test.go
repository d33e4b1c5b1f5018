package trainer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"boost-tui/kernels"
	"boost-tui/profiler/record"
	"boost-tui/trainer/checkpoint"
)

// TestFullDisk fills the disk after the first checkpoint, and makes room again before the last.
func TestFullDisk(t *testing.T) {
	j := &job{e: small(t, map[string]string{"tp": "2", "steps": "14", "checkpoint-every": "4"})}
	ballast := ""
	j.prepare = func(dir string) {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
			t.Skipf("a small file system cannot be mounted here (%v): run this as root", err)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
		ballast = filepath.Join(dir, "ballast")
	}
	first := at(0, 6, func() error { // after the checkpoint of step 4
		for range 1000 {
			if _, err := os.Stat(checkpoint.Dir(j.dir, 4)); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		var st unix.Statfs_t
		if err := unix.Statfs(j.dir, &st); err != nil {
			return err
		}
		return os.WriteFile(ballast, make([]byte, int64(st.Bavail)*st.Bsize-32<<10), 0o600) // room for lines, not for a checkpoint
	})
	last := at(0, 13, func() error { return os.Remove(ballast) })
	j.wrap = func(rank int, d kernels.Device) kernels.Device { return last(rank, first(rank, d)) }
	j.run(t).ok(t)
	if steps, err := checkpoint.Steps(checkpoint.Folder(j.dir)); err != nil || fmt.Sprint(steps) != "[4 14]" {
		t.Errorf("%v, %v", steps, err)
	}
	events, err := os.ReadFile(record.EventsPath(j.dir))
	if text := string(events); err != nil || strings.Count(text, "no space left") < 1 || !strings.Contains(text, "that of step 4 stays") {
		t.Errorf("%s, %v", events, err)
	}
	for _, step := range []int{4, 14} {
		contents(t, checkpoint.Dir(j.dir, step))
	}
}
