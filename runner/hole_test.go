package runner

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"boost-tui/profiler/record"
)

// Steps and a log of another user that are holes of a TiB keep neither attach nor logs reading until their end.
func TestHolesInARun(t *testing.T) {
	s := NewStore(t.TempDir())
	_, dir := finished(t, s, "r")
	for _, path := range []string{record.StepsPath(dir, 0), record.LogPath(dir, 0)} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40)); err != nil {
			t.Fatal(err)
		}
	}
	all := func(o LogOptions) func() error {
		return func() error { return Logs(t.Context(), dir, o, func(int, string) {}) }
	}
	for name, read := range map[string]func() error{
		"attach":      func() error { _, err := Attach(t.Context(), dir, func(record.StepLine) {}); return err },
		"logs":        all(LogOptions{Tail: -1}),
		"logs, whole": all(LogOptions{Tail: -1, Whole: true, Follow: true}),
	} {
		done := make(chan error, 1)
		go func() { done <- read() }()
		select {
		case err := <-done:
			if !errors.Is(err, record.ErrNoLines) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(60 * time.Second):
			t.Fatalf("%s reads a hole to its end", name)
		}
	}
	if err := all(LogOptions{Tail: 10})(); err != nil {
		t.Errorf("the end of the log: %v", err)
	}
}
