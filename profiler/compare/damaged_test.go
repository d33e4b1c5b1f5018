package compare

import (
	"errors"
	"os"
	"path/filepath"
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
