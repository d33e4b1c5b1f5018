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
	"sync"
	"time"

	"boost-tui/internal/parallel"
	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// Info is what the store knows about a run. A run that cannot be read whole still has one, with Err set.
type Info struct {
	ID, Dir string
	Run     Run // zero where run.json cannot be read
	State   State
	Cause   string // why it failed, was cancelled or is lost; one line
	Fault   Fault  // whose doing that was
	Tags    []string
	Note    string
	Ended   time.Time // zero while it runs or when nobody wrote it down
	Result  *Result   // nil as long as there is none
	Err     error     // what could not be read
}

// Load describes one run, given its id or a prefix that fits no other.
func (s *Store) Load(id string) (Info, error) {
	id, err := s.Find(id)
	if err != nil {
		return Info{}, err
	}
	return s.info(id, here(), time.Now()), nil
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
	return readInfo(dir, here(), time.Now()), nil
}

// List describes all runs, oldest first. What cannot be read is in the Info's Err and, for callers that
// only count, in the errors; the list goes on behind it.
func (s *Store) List(ctx context.Context) ([]Info, []error) {
	ids, err := s.ids()
	if err != nil {
		return nil, []error{err}
	}
	infos := make([]Info, len(ids))
	me, now := here(), time.Now()
	if err := parallel.Each(ctx, len(ids), func(i int) { infos[i] = s.info(ids[i], me, now) }); err != nil {
		return nil, []error{fmt.Errorf("list the runs of %s: %w", s.Root, err)}
	}
	s.cache.keep(ids)
	return listed(infos)
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
	dir := s.Dir(id)
	key := fingerprint(dir)
	if in, ok := s.cache.get(id, key); ok {
		return in
	}
	in := readInfo(dir, me, now)
	in.dropReserve(me)
	if in.Result != nil && in.Err == nil {
		s.cache.put(id, key, in)
	}
	return in
}

func readInfo(dir string, me Process, now time.Time) Info {
	in := Info{ID: filepath.Base(dir), Dir: dir}
	data, err := protocol.ReadFile(filepath.Join(dir, protocol.RunFile), maxFileBytes)
	if errors.Is(err, fs.ErrNotExist) {
		in.Err = errNoRun
		return in
	}
	if err == nil {
		in.Run, err = ParseRun(data)
	}
	in.Err = err
	in.Tags = in.Run.Tags
	if n, ok, err := readNotes(dir); err != nil {
		in.Err = join(in.Err, err)
	} else if ok {
		in.Tags, in.Note = n.Tags, n.Note
	}
	in.judge(me, now)
	return in
}

// Deleted reports that there is no run any more where the Info was read.
func (in *Info) Deleted() bool { return errors.Is(in.Err, errNoRun) }

// HadRanks reports that the run came to start ranks.
func (in *Info) HadRanks() bool {
	_, err := os.Lstat(record.LogPath(in.Dir, 0))
	return err == nil
}

// cache keeps runs that are over by the look of their files.
type cache struct {
	mu   sync.Mutex
	runs map[string]cached
}

type cached struct {
	key  prints
	info Info
}

// prints tell versions of a run's files apart. Files are replaced as a whole, so the inode changes too.
type prints [3]struct {
	ino, size int64
	mtime     int64
}

func fingerprint(dir string) prints {
	var p prints
	for i, name := range []string{protocol.RunFile, protocol.ResultFile, protocol.NotesFile} {
		if st, err := os.Stat(filepath.Join(dir, name)); err == nil {
			p[i].size, p[i].mtime, p[i].ino = st.Size(), st.ModTime().UnixNano(), inode(st)
		}
	}
	return p
}

func (c *cache) get(id string, key prints) (Info, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.runs[id]
	return e.info, ok && e.key == key
}

func (c *cache) put(id string, key prints, in Info) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runs == nil {
		c.runs = map[string]cached{}
	}
	c.runs[id] = cached{key, in}
}

// keep forgets runs that are gone.
func (c *cache) keep(ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.runs) <= len(ids) {
		return
	}
	there := make(map[string]bool, len(ids))
	for _, id := range ids {
		there[id] = true
	}
	for id := range c.runs {
		if !there[id] {
			delete(c.runs, id)
		}
	}
}
