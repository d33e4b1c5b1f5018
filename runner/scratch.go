package runner

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"strings"

	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// Folders of a store that are not runs have hidden names that say which process made them. One that was killed
// cannot remove its own, so whoever next creates something there does.
const (
	newPrefix     = ".new-"     // a run that is being written down
	scratchPrefix = ".scratch-" // a store for runs that nobody keeps
)

// Scratch makes a store inside this one for runs that are thrown away together: remove does that. When this program
// is killed first, the next one that creates a run here does.
func (s *Store) Scratch() (scratch *Store, remove func() error, err error) {
	if err := os.MkdirAll(s.Root, protocol.DirMode); err != nil {
		return nil, nil, fmt.Errorf("make the runs folder %s: %w", s.Root, record.Explain(err))
	}
	me, err := self()
	if err != nil {
		return nil, nil, err
	}
	s.tidy(me)
	dir, err := os.MkdirTemp(s.Root, scratchPrefix+me.mark()+"-")
	if err != nil {
		return nil, nil, fmt.Errorf("make a folder in %s: %w", s.Root, record.Explain(err))
	}
	return NewStore(dir), func() error { return os.RemoveAll(dir) }, nil
}

// mark names the process in a file name: where it lives, its pid and when it started.
func (p Process) mark() string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%q %q", p.Host, p.PIDSpace)
	return fmt.Sprintf("%08x-%d-%d", h.Sum32(), p.PID, p.StartTicks)
}

// maker is the process that made a hidden folder, as far as it can be looked at from here; ok is false for other
// names and for processes elsewhere.
func maker(name string, me Process) (p Process, ok bool) {
	rest, isNew := strings.CutPrefix(name, newPrefix)
	if !isNew {
		if rest, ok = strings.CutPrefix(name, scratchPrefix); !ok {
			return p, false
		}
	}
	return marked(rest, me)
}

// marked is maker for a name without its prefix.
func marked(rest string, me Process) (p Process, ok bool) {
	p = me
	var place uint32
	var random string
	if n, err := fmt.Sscanf(strings.ReplaceAll(rest, "-", " "), "%08x %d %d %s", &place, &p.PID, &p.StartTicks, &random); err != nil || n != 4 {
		return p, false
	}
	return p, strings.HasPrefix(rest, p.mark()+"-")
}

// tidy removes what processes of this user left that were killed. It is no one's errand: what fails is tried again
// another time.
func (s *Store) tidy(me Process) {
	root, err := os.OpenRoot(s.Root)
	if err != nil {
		return
	}
	defer root.Close()
	entries, err := os.ReadDir(s.Root)
	if err != nil {
		return
	}
	for _, e := range entries {
		p, ok := maker(e.Name(), me)
		if !ok || p.look(me) != dead {
			continue
		}
		st, err := root.Lstat(e.Name())
		if err != nil || !st.IsDir() {
			continue
		}
		if owned(st) {
			_ = root.RemoveAll(e.Name())
		}
	}
}

// dropReserve gives back the room that a run of this machine keeps whose agent was killed.
func (in *Info) dropReserve(me Process) {
	if in.State.Over() && in.Result == nil && !errors.Is(in.Err, errNoRun) && in.Mine() && in.Run.Host == me.Host {
		_ = removeReserve(in.Dir) // on a disk that is read-only it stays
	}
}
