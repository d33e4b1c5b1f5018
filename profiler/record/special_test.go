package record

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"boost-tui/internal/regular"
)

// A run directory may be another user's. A FIFO in it must not keep a reader, nor a writer, waiting.
func TestSpecialFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	fifo := func(path string) string {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), unix.Mkfifo(path, 0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	steps, btl, health := fifo(StepsPath(dir, 0)), fifo(TimelinePath(dir, 0)), fifo(HealthPath(dir, "h"))
	fifo(RollupPath(dir))
	for name, read := range map[string]func() error{
		"rollup": func() error { _, err := LastRollup(dir, 1); return err },
		"each rollup": func() error {
			return EachRollup(context.Background(), dir, func(*RollupStep) error { return nil })
		},
		"rollup writer":   func() error { _, err := OpenRollupWriter(dir, []int{0}); return err },
		"tail":            func() error { _, err := NewTailer(steps).Poll(10, func([]byte) {}); return err },
		"last lines":      func() error { return lastLines(steps, func([]byte) bool { return true }) },
		"writer":          func() error { _, err := OpenWriter(steps); return err },
		"last health":     func() error { _, err := LastHealth(health, 10); return err },
		"timeline":        func() error { _, err := OpenTimeline(btl); return err },
		"timeline writer": func() error { _, err := OpenTimelineWriter(btl, 0, 0); return err },
		"series":          func() error { _, err := OpenSeries(dir); return err },
	} {
		done := make(chan error, 1)
		go func() { done <- read() }()
		select {
		case err := <-done:
			if !errors.Is(err, regular.ErrNotRegular) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(5 * time.Second):
			t.Fatalf("%s hangs on a FIFO", name)
		}
	}
}
