package compare

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"boost-tui/internal/regular"
	"boost-tui/profiler/record"
)

// The folder's name is the id; what run.json says instead is told.
func TestIDIsTheFolders(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "copied")
	ok(t, os.Rename(spec{id: "made", variant: "cola", scheme: "btp", steps: 30, wallNanos: 1e6}.write(t, root), dir))
	t.Chdir(dir)
	for _, d := range []string{dir, "."} {
		table, err := Compare([]string{d}, Options{})
		ok(t, err)
		if r := table.Rows[0]; r.ID != "copied" || r.ClaimedID != "made" {
			t.Errorf("%s: id %q, claimed %q", d, r.ID, r.ClaimedID)
		}
		if text := table.Text(); !strings.Contains(text, "copied says in its run.json that it is made.") {
			t.Error(text)
		}
	}
}

func TestReadable(t *testing.T) {
	root := t.TempDir()
	good := spec{id: "good", variant: "cola", scheme: "btp", steps: 30, wallNanos: 1e6}.write(t, root)
	newer, damaged := filepath.Join(root, "newer"), filepath.Join(root, "damaged")
	for dir, text := range map[string]string{newer: `{"schema": 99}`, damaged: `{`} {
		ok(t, os.Mkdir(dir, 0o700))
		ok(t, os.WriteFile(filepath.Join(dir, "run.json"), []byte(text), 0o600))
	}
	got, err := Readable([]string{newer, good, damaged, filepath.Join(root, "none")})
	if len(got) != 1 || got[0] != good {
		t.Errorf("readable: %v", got)
	}
	if !errors.Is(err, record.ErrNewerSchema) || !strings.Contains(err.Error(), "run damaged") || !strings.Contains(err.Error(), "run none") {
		t.Error(err)
	}
}

// FIFOs in place of a run's files are errors, not a wait without end.
func TestFIFOsAreErrors(t *testing.T) {
	for _, name := range []string{"run.json", "result.json", "rollup.bin", "steps/r00000.jsonl"} {
		dir := spec{id: "r", variant: "cola", scheme: "btp", steps: 30, wallNanos: 1e6}.write(t, t.TempDir())
		_ = os.Remove(filepath.Join(dir, name)) // some are not there
		ok(t, unix.Mkfifo(filepath.Join(dir, name), 0o600))
		done := make(chan error, 1)
		go func() { _, err := Summarize(dir); done <- err }()
		select {
		case err := <-done:
			if !errors.Is(err, regular.ErrNotRegular) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(5 * time.Second):
			t.Fatalf("a FIFO as %s hangs", name)
		}
	}
}

// A run of another user whose step file is a hole is left out, in words, and keeps nobody busy until its end.
func TestHoleInARunBeside(t *testing.T) {
	root := t.TempDir()
	began := time.Now().Add(-time.Hour)
	mine := spec{id: "mine", variant: "cola", scheme: "btp", steps: 30, wallNanos: 1e9, began: began}.write(t, root)
	theirs := spec{id: "theirs", variant: "cola", scheme: "btp", steps: 30, wallNanos: 1e9, seed: 3, began: began}.write(t, root)
	ok(t, os.Chtimes(filepath.Join(theirs, "run.json"), began, began))
	path := record.StepsPath(theirs, 0)
	ok(t, os.WriteFile(path, nil, 0o600))
	ok(t, os.Truncate(path, 1<<40))
	tables := make(chan Table, 1)
	errs := make(chan error, 2)
	go func() {
		table, err := Compare([]string{mine}, Options{})
		errs <- err
		tables <- table
		_, err = Compare([]string{mine, theirs}, Options{})
		errs <- err
	}()
	wait := func() error {
		select {
		case err := <-errs:
			return err
		case <-time.After(60 * time.Second):
			t.Fatal("the hole is read to its end")
		}
		return nil
	}
	ok(t, wait())
	table := <-tables
	if r := table.Rows[0]; len(r.Overlapped) != 0 || !slices.Equal(r.Unseen, []string{"theirs"}) {
		t.Errorf("overlapped by %v, unseen %v", r.Overlapped, r.Unseen)
	}
	if text := table.Text(); !strings.Contains(text, "Whether theirs ran beside mine nobody can tell") {
		t.Error(text)
	}
	if err := wait(); !errors.Is(err, record.ErrNoLines) {
		t.Errorf("compared: %v", err)
	}
}
