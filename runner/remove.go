package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// Remove deletes a run for good; Trash is what can be undone. It touches only a directory directly under the store's root that the
// user owns, that holds a run.json and that is not running, and follows no link on the way: every
// name is looked up relative to a directory that is held open. An interrupted removal can be repeated.
func (s *Store) Remove(id string) error {
	id, err := s.Find(id)
	if err != nil {
		return err
	}
	if err := s.remove(id); err != nil {
		return fmt.Errorf("remove run %s: %w", id, err)
	}
	return nil
}

func (s *Store) remove(id string) error {
	root, err := os.OpenRoot(s.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	dir, err := openRun(root, id)
	if err != nil {
		return err
	}
	defer dir.Close()
	// A directory that took its place since is not the one held open.
	if err := s.notAlive(id); err != nil {
		return err
	}
	err = empty(dir)
	if err == nil {
		err = root.Remove(id)
	}
	return record.ExplainFor(err, "ask for more", "a run can be deleted only where its folder may be written")
}

// openRun opens the directory of a run for removal, after checking that it is one.
func openRun(root *os.Root, id string) (*os.Root, error) {
	named, err := root.Lstat(id)
	if err != nil {
		return nil, err
	}
	if !named.IsDir() {
		return nil, errors.New("it is not a directory but " + kind(named.Mode()))
	}
	dir, err := root.OpenRoot(id)
	if err != nil {
		return nil, err
	}
	if err := checkOwned(dir, named); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

func checkOwned(dir *os.Root, named fs.FileInfo) error {
	held, err := dir.Stat(".")
	if err != nil {
		return err
	}
	if !os.SameFile(named, held) {
		return errors.New("the directory was replaced while it was looked at")
	}
	if !owned(held) {
		return errors.New("it belongs to another user")
	}
	run, err := dir.Lstat(protocol.RunFile)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no %s in it, so it is not a run", protocol.RunFile)
	}
	if err != nil {
		return err
	}
	if !run.Mode().IsRegular() {
		return fmt.Errorf("its %s is not a file but %s", protocol.RunFile, kind(run.Mode()))
	}
	return nil
}

// empty deletes what is in the directory, run.json last: until then the removal can be repeated.
func empty(dir *os.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	names, err := f.Readdirnames(-1)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	for _, name := range names {
		if name == protocol.RunFile {
			continue
		}
		if err := dir.RemoveAll(name); err != nil {
			return err
		}
	}
	return dir.Remove(protocol.RunFile)
}

func kind(m fs.FileMode) string {
	if m&fs.ModeSymlink != 0 {
		return "a link"
	}
	return "something else"
}
