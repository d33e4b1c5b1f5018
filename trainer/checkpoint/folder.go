package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"boost-tui/internal/regular"
	"boost-tui/runner/protocol"

	"golang.org/x/sys/unix"
)

// ManifestFile is the file of a checkpoint that says what it holds.
const ManifestFile = "manifest.json"

// stepPrefix begins the name of a checkpoint's folder.
const stepPrefix = "step-"

func shardName(rank int) string { return fmt.Sprintf("r%05d.safetensors", rank) }
func sideName(rank int) string  { return fmt.Sprintf(".r%05d.json", rank) }

// Folder is where the checkpoints of a run lie.
func Folder(runDir string) string { return filepath.Join(runDir, protocol.CheckpointDir) }

// Dir is the folder of a run's checkpoint of a step.
func Dir(runDir string, step int) string {
	return filepath.Join(Folder(runDir), stepPrefix+strconv.Itoa(step))
}

// aside is where a checkpoint is written before it has a name.
func aside(runDir string, step int) string {
	return filepath.Join(Folder(runDir), protocol.CheckpointAside+strconv.Itoa(step))
}

// Begin makes the folder that ranks write a checkpoint into; every rank may call it. The run's own folder must be there: a run that was deleted
// does not come back.
func Begin(runDir string, step int) (dir string, err error) {
	dir = aside(runDir, step)
	for _, d := range []string{Folder(runDir), dir} {
		if err := os.Mkdir(d, protocol.DirMode); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("checkpoint: %w", err)
		}
	}
	return dir, nil
}

// AbsentError says that a rank has written nothing.
type AbsentError struct{ Rank int }

func (e *AbsentError) Error() string {
	return fmt.Sprintf("checkpoint: rank %d has written nothing", e.Rank)
}

// Commit turns the folder that all ranks have written into the checkpoint of m.Step: it reads what they wrote, adds the manifest, and gives the
// folder its name. One rank calls it, after the others' WriteShard. It gives the number of bytes.
func Commit(runDir string, world int, m *Manifest) (bytes int64, err error) {
	dir := aside(runDir, m.Step)
	shards := make([]shard, world)
	for i := range shards {
		data, err := regular.ReadFile(filepath.Join(dir, sideName(i)), maxManifest)
		if errors.Is(err, fs.ErrNotExist) {
			return 0, &AbsentError{i}
		}
		if err != nil {
			return 0, fmt.Errorf("checkpoint: what rank %d wrote: %w", i, err)
		}
		if shards[i], err = parseShard(data); err != nil {
			return 0, fmt.Errorf("checkpoint: what rank %d wrote: %w", i, err)
		}
	}
	m.Schema = Schema
	if err := m.merge(shards); err != nil {
		return 0, fmt.Errorf("checkpoint: %w", err)
	}
	data, err := m.encode()
	if err == nil {
		err = protocol.WriteFile(filepath.Join(dir, ManifestFile), data)
	}
	if err != nil {
		return 0, fmt.Errorf("checkpoint: %w", err)
	}
	for i := range shards {
		if err := os.Remove(filepath.Join(dir, sideName(i))); err != nil {
			return 0, fmt.Errorf("checkpoint: %w", err)
		}
	}
	for _, f := range m.Files {
		bytes += f.Bytes
	}
	if err := syncDir(dir); err != nil {
		return 0, fmt.Errorf("checkpoint: %w", err)
	}
	if err := renameNew(dir, Dir(runDir, m.Step)); err != nil {
		return 0, fmt.Errorf("checkpoint: %w", err)
	}
	return bytes, syncDir(Folder(runDir))
}

// renameNew renames without replacing. Where the file system cannot promise that, onto a checkpoint it fails all the same: that folder is not empty.
func renameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return os.Rename(from, to)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// Drop removes what there is of a checkpoint that did not come to be.
func Drop(runDir string, step int) error { return os.RemoveAll(aside(runDir, step)) }

// Keep removes all but the last k checkpoints of a run. One that goes loses its name first, so that nobody ever finds a part of it.
func Keep(runDir string, k int) error {
	steps, err := Steps(Folder(runDir))
	if err != nil || len(steps) <= k {
		return err
	}
	var errs []error
	for _, step := range steps[:len(steps)-k] {
		old := filepath.Join(Folder(runDir), protocol.CheckpointAside+strconv.Itoa(step)+".old")
		if err := os.Rename(Dir(runDir, step), old); err != nil {
			errs = append(errs, missing(err))
			continue
		}
		errs = append(errs, os.RemoveAll(old))
	}
	return errors.Join(errs...)
}

// Steps lists the steps of the checkpoints in a folder, in order. A folder that is not there holds none.
func Steps(folder string) ([]int, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, missing(err)
	}
	var steps []int
	for _, e := range entries {
		if n, ok := stepOf(e.Name()); ok && e.IsDir() {
			steps = append(steps, n)
		}
	}
	slices.Sort(steps)
	return steps, nil
}

// stepOf is the step that a folder's name says.
func stepOf(name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, stepPrefix)
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && n >= 0 && strconv.Itoa(n) == digits
}

// syncDir brings the names in a folder to the disk. File systems that know no such thing have nothing to bring.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, f.Close())
}
