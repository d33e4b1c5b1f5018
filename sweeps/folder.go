package sweeps

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"boost-tui/runner"
	"boost-tui/runner/protocol"
	"boost-tui/sweeps/space"
)

// Folder is the folder of the sweeps beside the runs of a store. It may be used by several goroutines, and several
// programs may use a folder at once.
type Folder struct {
	Root  string // absolute
	cache cache
}

// OpenFolder is the folder of the sweeps of a store. It is made when the first sweep is.
func OpenFolder(runs *runner.Store) *Folder {
	return &Folder{Root: filepath.Join(runs.Root, FolderName)}
}

// Create makes a sweep, which nobody looks after yet. Its directory appears whole or not at all. argv is the command
// that asks for it; empty: none.
func (f *Folder) Create(file space.File, x *space.Expansion, o Options, argv []string) (*Sweep, error) {
	if err := o.Check(); err != nil {
		return nil, fmt.Errorf("make a sweep: %w", err)
	}
	if len(x.Points) == 0 {
		return nil, errors.New("make a sweep: it has no points")
	}
	p := newPlan(file, x)
	data, err := p.encode()
	if err != nil {
		return nil, fmt.Errorf("make a sweep: %w", err)
	}
	name := file.Spec.Name
	word := name
	if word == "" {
		word = "sweep"
	}
	journal, err := firstLines(
		&line{K: kindCreate, Schema: Schema, Name: name, Argv: argv},
		&line{K: kindOptions, Options: &o},
		&line{K: kindPlan, N: 0, Key: p.Key},
	)
	if err != nil {
		return nil, fmt.Errorf("make a sweep: %w", err)
	}
	now := time.Now()
	id, err := runner.NewFolder(f.Root, func() (string, error) { return runner.NewID(now, word) }, func(tmp string) error {
		return errors.Join(
			protocol.WriteFile(filepath.Join(tmp, planFile(0)), data),
			protocol.WriteFile(filepath.Join(tmp, TOMLFile), []byte(p.TOML)),
			protocol.WriteFile(filepath.Join(tmp, JournalFile), journal),
			syncFolder(tmp),
		)
	})
	if err != nil {
		return nil, fmt.Errorf("make a sweep in %s: %w", f.Root, err)
	}
	return f.sweep(id), nil
}

func firstLines(lines ...*line) ([]byte, error) {
	var all []byte
	for _, l := range lines {
		l.T = time.Now().UnixNano()
		data, err := l.encode()
		if err != nil {
			return nil, err
		}
		all = append(all, data...)
	}
	return all, nil
}

func (f *Folder) sweep(id string) *Sweep { return &Sweep{ID: id, Dir: filepath.Join(f.Root, id)} }

// Open is the sweep in a directory, wherever that lies.
func Open(dir string) (*Sweep, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if !isSweep(dir) {
		return nil, fmt.Errorf("%s is not a sweep: it has no %s", dir, JournalFile)
	}
	return &Sweep{ID: filepath.Base(dir), Dir: dir}, nil
}

func isSweep(dir string) bool {
	st, err := os.Lstat(filepath.Join(dir, JournalFile))
	return err == nil && st.Mode().IsRegular()
}

// noSweep says that no sweep has an id; it is fs.ErrNotExist.
type noSweep string

func (e noSweep) Error() string        { return string(e) }
func (e noSweep) Is(target error) bool { return target == fs.ErrNotExist }

// Find completes the start of an id, its ending behind a hyphen, or the name of a sweep. What is ambiguous is an error
// that lists what fits; no sweep is fs.ErrNotExist.
func (f *Folder) Find(prefix string) (*Sweep, error) {
	if err := runner.CheckID(prefix); err != nil {
		return nil, fmt.Errorf("%q is not a sweep's id", runner.CleanTo(prefix, 40))
	}
	if isSweep(filepath.Join(f.Root, prefix)) {
		return f.sweep(prefix), nil
	}
	ids, err := f.ids()
	if err != nil {
		return nil, err
	}
	var fit []string
	for _, id := range ids {
		named := strings.HasPrefix(id, prefix) || strings.HasSuffix(id, "-"+prefix) || strings.Contains(id, "-"+prefix+"-")
		if named && isSweep(filepath.Join(f.Root, id)) {
			fit = append(fit, id)
		}
	}
	switch {
	case len(fit) == 1:
		return f.sweep(fit[0]), nil
	case len(fit) == 0:
		return nil, noSweep(fmt.Sprintf("no sweep %q in %s; `boost-tui sweep list` lists them", prefix, f.Root))
	}
	return nil, fmt.Errorf("%q fits %d sweeps (%s): say more of the id", prefix, len(fit), joinComma(fit[:min(len(fit), 3)]))
}

// ids lists what can be sweeps, oldest first. No folder is no sweeps.
func (f *Folder) ids() ([]string, error) {
	entries, err := os.ReadDir(f.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the sweeps: %w", err)
	}
	ids := make([]string, 0, len(entries))
	for _, e := range entries {
		if e.IsDir() && runner.CheckID(e.Name()) == nil {
			ids = append(ids, e.Name())
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// makeLock is held by who makes a sweep that may be there already.
const makeLock = ".making"

// SameOrCreate is Same, and Create where there is none, in one: of two programs that are told the same at once, one
// makes the sweep and the other finds it.
func (f *Folder) SameOrCreate(file space.File, x *space.Expansion, o Options, argv []string) (s *Sweep, made bool, err error) {
	if err := os.MkdirAll(f.Root, protocol.DirMode); err != nil {
		return nil, false, fmt.Errorf("make the sweeps' folder %s: %w", f.Root, full(err))
	}
	l, err := runner.TakeLock(filepath.Join(f.Root, makeLock), sharedPatience)
	if err != nil {
		return nil, false, full(err)
	}
	defer l.Release()
	if s, ok, err := f.Same(file.Spec.Key()); ok || err != nil {
		return s, false, err
	}
	if err := l.Held(); err != nil {
		return nil, false, err
	}
	s, err = f.Create(file, x, o, argv)
	return s, err == nil, err
}

// Same finds the newest sweep of this user that was planned from the same space (space.Spec.Key) and is not finished.
// One that cannot be read and may be it is an error: were it taken for absent, its points would run a second time.
func (f *Folder) Same(key string) (*Sweep, bool, error) {
	infos, errs := f.List(context.Background())
	var unread error
	for _, in := range slices.Backward(infos) {
		s := f.sweep(in.ID)
		switch {
		case s.owned() != nil:
		case in.Err != nil && unread == nil && s.maybe(key):
			unread = fmt.Errorf("sweep %s may be the same and cannot be read: %w; mend it, or say --new for another sweep", in.ID, in.Err)
		case in.Err == nil && in.Phase != PhaseFinished && slices.Contains(in.Keys, key):
			return s, true, nil
		}
	}
	if len(infos) == 0 && len(errs) > 0 { // nothing could be read: the sweep may be there all the same
		return nil, false, errors.Join(errs...)
	}
	return nil, false, unread
}

// maybe reports whether the sweep may have been planned from a space, as far as its copy for people tells.
func (s *Sweep) maybe(key string) bool {
	data, err := protocol.ReadFile(filepath.Join(s.Dir, TOMLFile), maxPlanBytes)
	if err != nil {
		return true
	}
	file, err := space.ParseTOML(data, TOMLFile)
	return err != nil || file.Spec.Key() == key
}
