package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// ErrNone says that there is no checkpoint where one was looked for.
var ErrNone = errors.New("there is no checkpoint")

// ErrDamaged says that the content of a checkpoint is not what was written.
var ErrDamaged = errors.New("damaged")

// Before names the checkpoint before the one in a folder, as a user would: RUN@STEP where it lies in the run's own directory, else its folder; empty where
// there is none that can be opened. Damage shows when a checkpoint is read, and then the one before it is what is left.
func Before(dir, run string) string {
	folder := filepath.Dir(dir)
	own, ok := stepOf(filepath.Base(dir))
	steps, err := Steps(folder)
	if err != nil || !ok {
		return ""
	}
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i] >= own {
			continue
		}
		path := filepath.Join(folder, stepPrefix+strconv.Itoa(steps[i]))
		c, err := Open(path)
		if err != nil || c.Close() != nil {
			continue
		}
		if Folder(filepath.Dir(folder)) == folder && filepath.Base(filepath.Dir(folder)) == run {
			return run + "@" + strconv.Itoa(steps[i])
		}
		return path
	}
	return ""
}

// Find gives the folder of the checkpoint that a path means: a checkpoint itself, or the latest whole one of a run's folder. skipped says why later ones
// were passed over.
func Find(path string) (dir string, skipped []error, err error) {
	if _, err := os.Stat(path); err != nil {
		return "", nil, err
	}
	if _, err := os.Lstat(filepath.Join(path, ManifestFile)); err == nil {
		return path, nil, nil
	}
	folder := Folder(path)
	if _, err := os.Lstat(folder); err != nil {
		folder = path
	}
	steps, err := Steps(folder)
	if err != nil {
		return "", nil, err
	}
	for i := len(steps) - 1; i >= 0; i-- {
		dir := filepath.Join(folder, stepPrefix+strconv.Itoa(steps[i]))
		c, err := Open(dir)
		if err == nil {
			return dir, skipped, c.Close()
		}
		skipped = append(skipped, err)
	}
	return "", skipped, errors.Join(append([]error{fmt.Errorf("%w in %s", ErrNone, path)}, skipped...)...)
}
