package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// ahead is a folder that was furnished for a run before anybody knew which.
type ahead struct {
	mu  sync.Mutex
	dir string // hidden; empty: there is none
}

// take hands the folder out.
func (a *ahead) take() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	dir := a.dir
	a.dir = ""
	return dir
}

// Furnish makes the folder of the next run of this store ahead, with all that does not depend on which run it will be.
// Making files takes long on a disk that is busy; who starts a run as soon as another ends need not wait for it then. It
// does nothing where there is one already, and fails where the store is not there. Unfurnish removes what was not needed;
// where this program is killed first, the next one that creates a run here does.
func (s *Store) Furnish() error {
	s.ahead.mu.Lock()
	defer s.ahead.mu.Unlock()
	if s.ahead.dir != "" {
		return nil
	}
	me, err := self()
	if err != nil {
		return err
	}
	s.tidy(me)
	if s.ahead.dir, err = makeFolder(s.Root, me, furnish); err != nil {
		return fmt.Errorf("furnish a folder in %s: %w", s.Root, record.Explain(err))
	}
	return nil
}

// Unfurnish removes the folder that Furnish made, where no run has it.
func (s *Store) Unfurnish() error {
	if dir := s.ahead.take(); dir != "" {
		return os.RemoveAll(dir)
	}
	return nil
}

// furnish puts into a new run's directory whatever does not depend on the run.
func furnish(tmp string) error {
	for _, sub := range []string{"steps", "health", "timeline", "log", filepath.Base(protocol.ExitDir(""))} {
		if err := os.Mkdir(filepath.Join(tmp, sub), protocol.DirMode); err != nil {
			return err
		}
	}
	return protocol.WriteFile(filepath.Join(tmp, protocol.ReserveFile), Reserve(reserveBytes))
}

// build prepares the directory under a hidden name and then gives it its own.
func (s *Store) build(r *Run) (dir string, err error) {
	if tmp := s.ahead.take(); tmp != "" {
		if id, err := placeFolder(s.Root, tmp, r.describe); err == nil {
			return s.Dir(id), nil
		} // somebody removed it, or the disk is full: a new one meets what is the matter, or nothing
	}
	s.tidy(r.Launcher)
	tmp, err := makeFolder(s.Root, r.Launcher, furnish)
	if err != nil {
		return "", err
	}
	id, err := placeFolder(s.Root, tmp, r.describe)
	if err != nil {
		return "", err
	}
	return s.Dir(id), nil
}
