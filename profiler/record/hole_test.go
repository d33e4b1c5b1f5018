package record

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hole makes a file that is one hole of a TiB, after some text.
func hole(t *testing.T, path, text string) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(path), 0o700))
	check(t, os.WriteFile(path, []byte(text), 0o600))
	check(t, os.Truncate(path, 1<<40))
}

// A run directory may be another user's. A hole takes nothing of his disk, and must not keep a reader busy for hours.
func TestHolesAreGivenUp(t *testing.T) {
	dir, rolled := t.TempDir(), t.TempDir()
	hole(t, StepsPath(dir, 0), `{"step":1,"wall_ns":1000}`+"\n")
	hole(t, HealthPath(dir, "h"), "\n")
	w := must(OpenRollupWriter(rolled, []int{0}))(t)
	check(t, w.Close())
	check(t, os.Truncate(RollupPath(rolled), 1<<40))
	ctx := context.Background()
	drain := func(t *Tailer) error {
		for {
			if more, err := t.Poll(1<<20, func([]byte) {}); !more || err != nil {
				return err
			}
		}
	}
	tail := NewTailer(StepsPath(dir, 0))
	refine := func(dir string) func() error {
		return func() error {
			s, err := OpenSeries(dir)
			if err != nil {
				return err
			}
			for more := true; more && err == nil; {
				more, err = s.Refine(1 << 20)
			}
			return err
		}
	}
	for name, read := range map[string]func() error{
		"tail":  func() error { return drain(tail) },
		"steps": func() error { _, err := EachStep(ctx, dir, func(*RollupStep) error { return nil }); return err },
		"step lines": func() error {
			_, err := EachStepLine(ctx, StepsPath(dir, 0), func(*StepLine) error { return nil })
			return err
		},
		"health lines": func() error {
			_, err := EachHealthLine(ctx, HealthPath(dir, "h"), func(*HealthLine) error { return nil })
			return err
		},
		"last step":  func() error { _, err := LastSteps(StepsPath(dir, 0), 1); return err },
		"series":     refine(dir),
		"rollup":     func() error { return EachRollup(ctx, rolled, func(*RollupStep) error { return nil }) },
		"its series": refine(rolled),
	} {
		done := make(chan error, 1)
		go func() { done <- read() }()
		select {
		case err := <-done:
			if err == nil || !strings.Contains(err.Error(), " holds ") {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(60 * time.Second):
			t.Fatalf("%s reads a hole to its end", name)
		}
	}
	// What was given up stays so, until the file is another.
	at := tail.Offset()
	if err := drain(tail); !errors.Is(err, ErrNoLines) || tail.Offset() != at {
		t.Errorf("read again: %v, from byte %d to %d", err, at, tail.Offset())
	}
	check(t, os.WriteFile(tail.Path(), []byte("new\n"), 0o600))
	if got, _ := poll(t, tail, 1<<20); len(got) != 1 {
		t.Errorf("the file that took its place has the lines %q", got)
	}
}

// Newlines here and there in a hole make it no file of lines.
func TestHoleWithNewlines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f := must(os.Create(path))(t)
	for i := range int64(400) {
		must(f.WriteAt([]byte("\n"), (i+1)<<19))(t)
	}
	check(t, f.Truncate(1<<40))
	check(t, f.Close())
	if _, err := EachStepLine(context.Background(), path, func(*StepLine) error { return nil }); !errors.Is(err, ErrNoLines) {
		t.Error(err)
	}
	check(t, os.Truncate(path, 400<<19+1))
	if _, err := LastSteps(path, 1); !errors.Is(err, ErrNoLines) {
		t.Error(err)
	}
}

// A hole is no block of a timeline: it ends there, as where a crash tore one.
func TestTimelineEndsAtAHole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.btl")
	w := must(OpenTimelineWriter(path, 0, 0))(t)
	check(t, w.Close())
	check(t, os.Truncate(path, 1<<40))
	r := must(OpenTimeline(path))(t)
	defer r.Close()
	if b, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("%+v, %v", b, err)
	}
}
