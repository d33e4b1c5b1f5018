package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"boost-tui/runner/protocol"
)

// Usage is what a run takes on its disk.
type Usage struct {
	Bytes       int64 // allocated
	Checkpoints int64 // of them, in checkpoints
	Files       int
}

// Bounds of what is counted: a directory may be another user's.
const (
	maxUsageFiles = 1_000_000
	maxUsageDepth = 32
)

// UsageOf counts what a run takes on its disk, given its directory. Links are not followed, files with several names count
// once, and what is mounted inside does not count.
func UsageOf(ctx context.Context, dir string) (Usage, error) {
	st, err := os.Lstat(dir)
	if err == nil && !st.IsDir() {
		err = errors.New("it is not a directory but " + kind(st.Mode()))
	}
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(dir)
	}
	if err != nil {
		return Usage{}, fmt.Errorf("disk use of run %s: %w", filepath.Base(dir), err)
	}
	defer root.Close()
	u, err := usageOf(ctx, root, ".")
	if err != nil {
		return u, fmt.Errorf("disk use of run %s: %w", filepath.Base(dir), err)
	}
	return u, nil
}

// usageOf counts what lies below a name.
func usageOf(ctx context.Context, root *os.Root, name string) (Usage, error) {
	var u Usage
	var device uint64
	var denied error
	seen := map[uint64]bool{}
	err := fs.WalkDir(root.FS(), name, func(path string, d fs.DirEntry, err error) error {
		if cerr := ctx.Err(); cerr != nil {
			return cerr
		}
		if errors.Is(err, fs.ErrNotExist) { // it goes on, or is deleted
			return nil
		}
		if err != nil {
			denied = errors.Join(denied, err)
			return nil
		}
		if u.Files >= maxUsageFiles || strings.Count(path, string(filepath.Separator)) > maxUsageDepth {
			return fmt.Errorf("it holds more than %d files, or folders in each other deeper than %d", maxUsageFiles, maxUsageDepth)
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		sys, ok := info.Sys().(*syscall.Stat_t)
		switch {
		case !ok:
			return nil
		case device == 0:
			device = sys.Dev
		case sys.Dev != device && d.IsDir():
			return fs.SkipDir
		}
		if sys.Nlink > 1 && !d.IsDir() {
			if seen[sys.Ino] {
				return nil
			}
			seen[sys.Ino] = true
		}
		bytes := sys.Blocks * 512 // stat(2): whatever the file system's own blocks are
		u.Bytes += bytes
		u.Files++
		if path == protocol.CheckpointDir || strings.HasPrefix(path, protocol.CheckpointDir+"/") {
			u.Checkpoints += bytes
		}
		return nil
	})
	return u, errors.Join(err, denied)
}
