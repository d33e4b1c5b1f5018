package runner

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"boost-tui/runner/protocol"
)

// hidden are the folders of a store that are no runs yet.
func hidden(t *testing.T, s *Store) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(s.Root, newPrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestFurnish: a folder that was made ahead becomes the next run, whatever that is.
func TestFurnish(t *testing.T) {
	s := NewStore(filepath.Join(t.TempDir(), "runs"))
	if err := s.Furnish(); err == nil {
		t.Error("a store that is not there was made")
	}
	first, _ := create(t, s, "first")
	for range 2 {
		if err := s.Furnish(); err != nil {
			t.Fatal(err)
		}
	}
	made := hidden(t, s)
	if len(made) != 1 {
		t.Fatalf("%v", made)
	}
	before, err := os.Stat(made[0])
	if err != nil {
		t.Fatal(err)
	}
	r, dir, err := s.Create(testExperiment("second", 1), CreateOptions{After: first.ID})
	if err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(dir); err != nil || !os.SameFile(before, after) || len(hidden(t, s)) != 0 {
		t.Errorf("the folder was not used: %v, left: %v", err, hidden(t, s))
	}
	if in, err := s.Load(r.ID); err != nil || in.Err != nil || in.Run.Name != "second" || !waiting(dir) {
		t.Errorf("%+v, %v, waiting %v", in, err, waiting(dir))
	}
	_, other := create(t, s, "third")
	if a, b := layout(t, dir), layout(t, other); a != b+" "+protocol.WaitingFile {
		t.Errorf("made ahead it has %s, else %s", a, b)
	}
	private(t, dir)

	// Somebody clears the store up: the next run gets a folder of its own.
	if err := s.Furnish(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(hidden(t, s)[0]); err != nil {
		t.Fatal(err)
	}
	_, dir = create(t, s, "fourth")
	if layout(t, dir) != layout(t, other) {
		t.Errorf("%s", layout(t, dir))
	}
	for range 2 { // what was not needed goes
		if err := s.Furnish(); err != nil {
			t.Fatal(err)
		}
		if err := s.Unfurnish(); err != nil || len(hidden(t, s)) != 0 {
			t.Errorf("%v, left: %v", err, hidden(t, s))
		}
	}
	if err := s.Unfurnish(); err != nil {
		t.Error(err)
	}
}

// layout names what is in a run's directory.
func layout(t *testing.T, dir string) (names string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range entries {
		if i > 0 {
			names += " "
		}
		names += e.Name()
	}
	return names
}

// TestFurnishAndCreateAtOnce: no folder becomes two runs.
func TestFurnishAndCreateAtOnce(t *testing.T) {
	s := NewStore(t.TempDir())
	var group sync.WaitGroup
	var mu sync.Mutex
	dirs := map[string]bool{}
	for range 4 {
		group.Go(func() {
			for range 10 {
				if err := s.Furnish(); err != nil {
					t.Error(err)
				}
				_, dir, err := s.Create(testExperiment("x", 1), CreateOptions{})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				dirs[dir] = true
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if err := s.Unfurnish(); err != nil || len(dirs) != 40 || len(hidden(t, s)) != 0 {
		t.Errorf("%v: %d runs, left: %v", err, len(dirs), hidden(t, s))
	}
}
