package runner

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"boost-tui/runner/protocol"
)

// Checkpoints that could not be put together while the disk was full are put together when there is room: the latest, as many as are
// kept, whichever of them comes first, and no older one instead of them.
func TestCheckpointsAfterAFullDisk(t *testing.T) {
	dir := t.TempDir()
	var full bool
	var kept []int          // checkpoints that are there
	whole := map[int]bool{} // steps of which all parts are here
	part := func(step int) string {
		return filepath.Join(dir, protocol.CheckpointDir, protocol.CheckpointPart+strconv.Itoa(step))
	}
	h := &home{dir: dir, run: &sshRun{}}
	h.run.job.Run.Experiment.Train.KeepLast = 2
	h.run.job.Join = func(_ string, _, step, keep int) error {
		switch {
		case !whole[step]:
			return fs.ErrNotExist
		case full:
			return syscall.ENOSPC
		}
		kept = append(kept, step)
		slices.Sort(kept)
		kept = kept[max(0, len(kept)-keep):]
		return os.RemoveAll(part(step))
	}
	come := func(steps ...int) {
		t.Helper()
		for _, step := range steps {
			if err := os.MkdirAll(part(step), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	is := func(what string, checkpoints, parts []int) {
		t.Helper()
		h.join()
		if !slices.Equal(kept, checkpoints) || !slices.Equal(h.parts(), parts) {
			t.Errorf("%s: checkpoints %v, parts %v; want %v, %v", what, kept, h.parts(), checkpoints, parts)
		}
	}
	for _, step := range []int{20, 40} {
		come(step)
		whole[step] = true
		is("before", []int{20, 40}[:step/20], nil)
	}
	full = true
	come(60, 80, 100)
	whole[80], whole[100] = true, true // of 60 a host has dropped its part before it could be sent
	is("full", []int{20, 40}, []int{60, 80, 100})
	full = false
	is("room again", []int{80, 100}, nil)
	// A later one that comes before an earlier one does not take its place.
	come(120, 140)
	whole[140] = true
	is("the later one first", []int{100, 140}, []int{120})
	if h.unwanted(120) || !h.unwanted(140) || !h.unwanted(100) || !h.unwanted(80) {
		t.Error("what is wanted")
	}
	whole[120] = true
	is("the earlier one after it", []int{120, 140}, nil)
}
