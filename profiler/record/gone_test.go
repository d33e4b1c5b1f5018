package record

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestDeletedRunStaysDeleted: no writer makes the directory of a run anew.
func TestDeletedRunStaysDeleted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	for _, path := range []string{EventsPath(dir), StepsPath(dir, 0), HealthPath(dir, "host")} {
		if _, err := OpenWriter(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := OpenTimelineWriter(TimelinePath(dir, 0), 0, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("timeline: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory came back: %v", err)
	}
}
