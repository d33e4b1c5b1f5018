package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"boost-tui/internal/regular"
	"boost-tui/runner/protocol"
)

// Where the hosts of a run share no file system, each leaves its part of a checkpoint, and the checkpoint is put together
// where the parts come to lie side by side.

// HostPart is the folder of a host's part of the checkpoint of a step.
func HostPart(runDir string, step int) string {
	return filepath.Join(Folder(runDir), protocol.CheckpointPart+strconv.Itoa(step))
}

// Leave makes the host's part of a checkpoint of what its ranks have written. m is what rank 0 says of the whole; nil on other hosts.
// One rank of each host calls it, after all ranks of the run have written. The last k parts stay: somebody may be fetching them.
func Leave(runDir string, step int, m *Manifest, k int) error {
	if m != nil {
		data, err := json.Marshal(m)
		if err == nil {
			err = protocol.WriteFile(filepath.Join(aside(runDir, step), protocol.CheckpointDraft), data)
		}
		if err != nil {
			return fmt.Errorf("checkpoint: %w", err)
		}
	}
	if err := renameNew(aside(runDir, step), HostPart(runDir, step)); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	steps, err := parts(Folder(runDir))
	for _, old := range steps[:max(0, len(steps)-k)] {
		err = errors.Join(err, os.RemoveAll(HostPart(runDir, old)))
	}
	return errors.Join(err, syncDir(Folder(runDir)))
}

// parts lists the steps of which a folder holds parts, in order.
func parts(folder string) ([]int, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, missing(err)
	}
	var steps []int
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), protocol.CheckpointPart)
		if n, err := strconv.Atoi(digits); ok && err == nil && n >= 0 && strconv.Itoa(n) == digits && e.IsDir() {
			steps = append(steps, n)
		}
	}
	slices.Sort(steps)
	return steps, nil
}

// Join makes the checkpoint of a step of the parts of all hosts, which lie in one folder (HostPart), and keeps the last k. It is fs.ErrNotExist
// as long as some are missing. After another error, as of a disk that is full, the parts are there as before, and it can be tried again.
func Join(runDir string, world, step, k int) error {
	part := HostPart(runDir, step)
	data, err := regular.ReadFile(filepath.Join(part, protocol.CheckpointDraft), maxManifest)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil || m.Step != step {
		return fmt.Errorf("checkpoint: what rank 0 says of step %d is damaged", step)
	}
	if _, err := os.Lstat(Dir(runDir, step)); err == nil { // whoever sent the parts had not heard that it is there
		return errors.Join(os.RemoveAll(part), Keep(runDir, k))
	}
	if err := allArrived(part, world); err != nil {
		return err
	}
	if err := os.Rename(part, aside(runDir, step)); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if _, err := Commit(runDir, world, &m); err != nil {
		return errors.Join(err, giveBack(runDir, world, step))
	}
	// It says nothing that the manifest does not; what is left of it harms nobody.
	_ = os.Remove(filepath.Join(Dir(runDir, step), protocol.CheckpointDraft))
	return Keep(runDir, k)
}

// giveBack makes parts again of a checkpoint that did not come to be, or drops it where they are parts no more.
func giveBack(runDir string, world, step int) error {
	if allArrived(aside(runDir, step), world) == nil && os.Rename(aside(runDir, step), HostPart(runDir, step)) == nil {
		return nil
	}
	return Drop(runDir, step)
}

// allArrived is fs.ErrNotExist where the share of a rank is not all there.
func allArrived(part string, world int) error {
	for rank := range world {
		if err := arrived(part, rank); err != nil {
			return err
		}
	}
	return nil
}

// arrived reports whether the share of a rank is all there: fs.ErrNotExist when it is not.
func arrived(part string, rank int) error {
	data, err := regular.ReadFile(filepath.Join(part, sideName(rank)), maxManifest)
	if err != nil {
		return fmt.Errorf("checkpoint: what rank %d wrote: %w", rank, err)
	}
	s, err := parseShard(data)
	if err != nil {
		return fmt.Errorf("checkpoint: what rank %d wrote: %w", rank, err)
	}
	if s.File.Name == "" {
		return nil // it holds nothing that others do not have
	}
	st, err := os.Lstat(filepath.Join(part, shardName(rank)))
	if err == nil && st.Size() != s.File.Bytes {
		err = fs.ErrNotExist
	}
	if err != nil {
		return fmt.Errorf("checkpoint: what rank %d wrote: %w", rank, err)
	}
	return nil
}
