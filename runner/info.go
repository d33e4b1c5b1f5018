package runner

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

	"boost-tui/internal/parallel"
	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"

	"golang.org/x/sys/unix"
)

// Info is what the store knows about a run. A run that cannot be read whole still has one, with Err set.
type Info struct {
	ID, Dir string
	Run     Run // zero where run.json cannot be read
	State   State
	Cause   string // why it failed, was cancelled or is lost, what it waits for, or why nobody looks after it; one line
	Fault   Fault  // whose doing that was
	Tags    []string
	Note    string
	// Archived runs are left out of lists unless somebody asks for them.
	Archived bool
	Ended    time.Time // zero while it runs or when nobody wrote it down
	Result   *Result   // nil as long as there is none
	Last     *Progress // how far it got; of a run that is over and was read by List, Load or Read, where its rollup says so
	UID      int       // whose it is: the owner of its directory; -1: unknown
	Err      error     // what could not be read

	ahead time.Duration // how far this host's clock is ahead of the store's
}

// Progress is how far a run got.
type Progress struct {
	Step int64
	Loss float64 // at that step; NaN: unknown
}

// Mine reports whether the run is this user's. What is somebody else's is read and never written to.
func (in *Info) Mine() bool { return in.UID == os.Geteuid() }

// Owner names the user whose run it is, as far as this machine knows.
func (in *Info) Owner() string { return ownerName(in.UID) }

// Load describes one run, given its id or a prefix that fits no other.
func (s *Store) Load(id string) (Info, error) {
	id, err := s.Find(id)
	if err != nil {
		return Info{}, err
	}
	in := s.info(id, here(), time.Now())
	in.ahead = s.clock.ahead(in.Dir)
	s.revive(&in)
	return in, nil
}

// Read describes the run in a directory, in whatever store it lies.
func Read(dir string) (Info, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Info{}, err
	}
	if _, err := os.Stat(filepath.Join(dir, protocol.RunFile)); err != nil {
		return Info{}, fmt.Errorf("%s is not a run: %w", dir, err)
	}
	in, now := readInfo(dir, here(), time.Now()), time.Now()
	in.ahead = clockAhead(now, fileNow(dir, now))
	return in, nil
}

// List describes all runs, oldest first, archived ones too. What cannot be read is in the Info's Err and, for callers that
// only count, in the errors; the list goes on behind it. Links out of the store are no runs, and in the errors alone.
func (s *Store) List(ctx context.Context) ([]Info, []error) { return s.list(ctx, time.Now()) }

func (s *Store) list(ctx context.Context, now time.Time) ([]Info, []error) {
	l, err := s.look(now)
	if err != nil {
		return nil, []error{err}
	}
	defer l.close()
	infos := make([]Info, len(l.ids))
	if err := parallel.Each(ctx, len(l.ids), func(i int) { infos[i] = l.info(l.ids[i]) }); err != nil {
		return nil, []error{fmt.Errorf("list the runs of %s: %w", s.Root, err)}
	}
	s.cache.keep(l.ids)
	l.remember()
	infos, errs := listed(infos)
	for i := range infos {
		in := &infos[i]
		if in.ahead = s.clock.ahead(in.Dir); in.State == Lost || !in.State.Over() { // others need nobody
			s.revive(in)
		}
	}
	return infos, append(errs, l.links...)
}

// listed leaves out directories that hold no run and gathers the errors.
func listed(infos []Info) ([]Info, []error) {
	var errs []error
	kept := infos[:0]
	for _, in := range infos {
		if errors.Is(in.Err, errNoRun) {
			continue
		}
		if in.Err != nil {
			errs = append(errs, fmt.Errorf("run %s: %w", in.ID, in.Err))
		}
		kept = append(kept, in)
	}
	return kept, errs
}

// joined is several errors in one line.
type joined []error

func (j joined) Error() string {
	var texts []string
	for _, err := range j {
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "; ")
}

func (j joined) Unwrap() []error { return j }

// join is errors.Join for what is shown in one line.
func join(errs ...error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	return joined(errs)
}

// errNoRun marks a directory without run.json: not ours.
var errNoRun = errors.New("not a run: it has no " + protocol.RunFile)

// info reads a run, or takes it from the cache: one that is over changes only by its files.
func (s *Store) info(id string, me Process, now time.Time) Info {
	l := look{store: s, at: unix.AT_FDCWD, me: me, now: now}
	return l.info(id)
}

func readInfo(dir string, me Process, now time.Time) Info {
	in := Info{ID: filepath.Base(dir), Dir: dir, UID: ownerOf(dir)}
	revalidate(dir)
	data, err := protocol.ReadFile(filepath.Join(dir, protocol.RunFile), maxFileBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		in.Err = errNoRun
		return in
	case errors.Is(err, fs.ErrPermission):
		in.State, in.Err = Unreadable, fmt.Errorf("it belongs to %s and may not be read by others", in.Owner())
		if in.Mine() {
			in.Err = fmt.Errorf("its owner has no right to read it: chmod u+rwX %s", dir)
		}
		return in
	case err == nil:
		in.Run, err = ParseRun(data)
	}
	if len(in.Run.Hosts) == 0 {
		in.Run.Hosts = pickedHosts(dir)
	}
	in.Err = err
	damaged := err != nil && !errors.Is(err, ErrNewerSchema)
	in.Tags = in.Run.Tags
	if n, ok, err := readNotes(dir); err != nil {
		in.Err = join(in.Err, err)
	} else if ok {
		in.Tags, in.Note, in.Archived = n.Tags, n.Note, n.Archived
	}
	in.judge(me, now)
	if damaged && in.State == Pending { // nothing says that somebody is about to start it
		in.State, in.Cause = Unreadable, ""
	}
	in.progress()
	return in
}

// progress reads how far a run that is over got.
func (in *Info) progress() {
	if in.Result == nil {
		return
	}
	// What is wrong with the rollup is said by whoever asks for its figures.
	if last, err := record.LastRollup(in.Dir, 1); err == nil && len(last) == 1 {
		in.Last = &Progress{last[0].Step, last[0].Loss}
	}
}

// Deleted reports that there is no run any more where the Info was read.
func (in *Info) Deleted() bool { return errors.Is(in.Err, errNoRun) }

// HadRanks reports that the run came to start ranks.
func (in *Info) HadRanks() bool {
	_, err := os.Lstat(record.LogPath(in.Dir, 0))
	return err == nil
}
