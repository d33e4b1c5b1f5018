package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"

	"golang.org/x/sys/unix"
)

// A list of thousands of runs must not read thousands of files. What is known of a run that is over is kept, in memory and
// in an index on the disk (index.go), under the prints of its files, and is used as long as they are the same.

const (
	// settled is the age from which a file's time tells its versions apart: file systems count time in ticks, of up to two
	// seconds, and two versions may bear the same one. What is younger is read again, and so is what bears a time to come.
	settled = 2 * time.Second
	// lookAgain is how long a directory that looks the same is taken for the same without a look at its files. All that
	// this program writes is renamed into its place, which the directory shows; an editor may write into a file.
	lookAgain = 5 * time.Second
)

// look is one look at the store.
type look struct {
	store *Store
	at    int // the store's directory, or AT_FDCWD
	root  *os.File
	me    Process
	now   time.Time
	ids   []string
	links []error // about names that lead elsewhere
	fresh missed

	clock  sync.Once
	before int64 // what is older is settled
}

// missed counts runs that had to be read and that the index could have known.
type missed struct {
	mu sync.Mutex
	n  int
}

// look opens the store for a list. No folder is no runs.
func (s *Store) look(now time.Time) (*look, error) {
	l := &look{store: s, at: unix.AT_FDCWD, me: here(), now: now}
	root, err := os.Open(s.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the runs: %w", err)
	}
	l.root, l.at = root, int(root.Fd())
	entries, err := root.ReadDir(-1)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("list the runs: %w", err), root.Close())
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case checkID(name) != nil:
		case e.IsDir():
			l.ids = append(l.ids, name)
		case e.Type()&fs.ModeSymlink != 0:
			if to, err := os.Readlink(filepath.Join(s.Root, name)); err == nil && strings.ContainsRune(to, filepath.Separator) {
				l.links = append(l.links, fmt.Errorf("%s is a link to %s: a link is no run, and is not followed", name, clean(to, 120)))
			}
		}
	}
	slices.Sort(l.ids)
	s.index.load(s.Root, len(l.ids))
	return l, nil
}

func (l *look) close() {
	if l.root != nil {
		l.root.Close() // read only
	}
}

// path is a run's directory, as short as possible.
func (l *look) path(id string) string {
	if l.root != nil {
		return id
	}
	return l.store.Dir(id)
}

// info describes a run.
func (l *look) info(id string) Info {
	s, path := l.store, l.path(id)
	var p prints
	var uid int
	if !p.dir(l.at, path, &uid) {
		in := Info{ID: id, Dir: s.Dir(id), Err: errNoRun}
		return in
	}
	known, ok := s.cache.get(id)
	if ok && known.key[0] == p[0] && time.Since(known.looked) < lookAgain {
		if in, ok := s.cache.unpack(&known, id, s.Dir(id), uid); ok {
			return in
		}
	}
	p.files(l.at, path)
	if !ok || known.key != p {
		known = cached{key: p, packed: s.index.take(id, &p)}
	}
	if in, ok := s.cache.unpack(&known, id, s.Dir(id), uid); ok {
		s.cache.put(id, known)
		return in
	}
	in := readInfo(s.Dir(id), l.me, l.now)
	in.dropReserve(l.me)
	if left := in.wakeUnwanted(l.me); !left && in.Result != nil && in.Err == nil && l.settled(&p) {
		s.cache.put(id, packed(p, &in))
		l.fresh.mu.Lock()
		l.fresh.n++
		l.fresh.mu.Unlock()
	}
	return in
}

// settled reports whether the times of a run's files tell their versions apart, by the clock of this machine and that of the
// file system: whichever is behind.
func (l *look) settled(p *prints) bool {
	l.clock.Do(func() {
		now := l.now
		if l.root != nil && ownerOf(l.store.Root) == os.Geteuid() { // nothing is touched in a store of somebody else
			here := time.Now()
			now = now.Add(min(0, FileNow(filepath.Join(l.store.Root, indexFile), here).Sub(here)))
		}
		l.before = now.Add(-settled).UnixNano()
	})
	return p.newest() < l.before
}

// prints tell versions of a run's directory and files apart.
type prints [1 + printed]printOf

// printOf is what a file looks like. A file that is replaced has another inode, one that is written to another time.
type printOf struct{ inode, size, mtime, ctime int64 }

// printed is the number of files that say what is known of a run that is over.
const printed = 4

var printedFiles = [printed]string{protocol.RunFile, protocol.ResultFile, protocol.NotesFile, filepath.Base(record.RollupPath(""))}

// dir looks at the run's directory; false: there is none. A link is none.
func (p *prints) dir(at int, path string, uid *int) bool {
	var st unix.Stat_t
	if unix.Fstatat(at, path, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return false
	}
	p[0], *uid = printFrom(&st), int(st.Uid)
	return true
}

// files looks at the run's files. One that is not there looks like nothing.
func (p *prints) files(at int, path string) {
	var st unix.Stat_t
	for i, name := range printedFiles {
		if unix.Fstatat(at, path+"/"+name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
			p[1+i] = printFrom(&st)
		}
	}
}

func printFrom(st *unix.Stat_t) printOf {
	return printOf{int64(st.Ino), st.Size, st.Mtim.Nano(), st.Ctim.Nano()}
}

// newest is the latest time that any of them bears.
func (p *prints) newest() int64 {
	var t int64
	for i := range p {
		t = max(t, p[i].mtime, p[i].ctime)
	}
	return t
}

// cache keeps runs that are over by the look of their files.
type cache struct {
	mu    sync.Mutex
	spare sync.Pool          // of *indexed: thousands are unpacked one after the other
	runs  map[string]*cached // never changed once they are in
}

// cached is a run as the index has it: packed it takes half of the memory, and the strings of all lists are its.
type cached struct {
	key    prints
	packed string
	looked time.Time // at all of its files
}

// unpack describes a run, as it is in a folder of a user's; false: it is not known.
func (c *cache) unpack(run *cached, id, dir string, uid int) (Info, bool) {
	i, _ := c.spare.Get().(*indexed)
	if i == nil {
		i = &indexed{}
	}
	defer c.spare.Put(i)
	*i = indexed{}
	in, ok := unpack(run.packed, i)
	in.ID, in.Dir, in.UID = id, dir, uid
	return in, ok
}

func (c *cache) get(id string) (cached, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.runs[id]; ok {
		return *e, true
	}
	return cached{}, false
}

// put keeps a run, as it was seen now. One that cannot be packed is read anew each time.
func (c *cache) put(id string, run cached) {
	if run.packed == "" {
		return
	}
	run.looked = time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runs == nil {
		c.runs = map[string]*cached{}
	}
	c.runs[id] = &run
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

// revalidate lets a network file system ask its server what is in a directory: it keeps for half a minute that a file is not
// there, unless the directory is opened.
func revalidate(dir string) {
	if f, err := os.Open(dir); err == nil {
		f.Close() // read only
	}
}
