package runner

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"boost-tui/internal/regular"
	"boost-tui/internal/wallclock"
	"boost-tui/runner/protocol"

	"golang.org/x/sys/unix"
)

// wallNow is the time of day of this host.
func wallNow() time.Time { return wallclock.Now().UTC() }

func wallNanos() int64 { return wallclock.UnixNano() }

// When a run was created, began and ended is said by the clock of the file system that its folder lies on: that is one clock for
// all hosts that write such times, whose own may be minutes apart. Ids and lists sort by it, and no duration is computed from two
// clocks. Where the file system goes by the clock of the host that writes, or is that host's own, it is that host's clock.

const (
	// sameClock is how far two readings of one clock may be apart: file systems count time in ticks, of up to two seconds.
	sameClock = 2 * time.Second
	// noClock is how far a file system's clock may be off. What is farther off is no clock that times can be told by.
	noClock = 24 * time.Hour
)

// clockAhead is how far this host's clock, which says here, is ahead of that of a file system, which says at; 0: they are the
// same, or that one is none.
func clockAhead(here, at time.Time) time.Duration {
	if d := here.Round(0).Sub(at); d.Abs() > sameClock && d.Abs() < noClock {
		return d
	}
	return 0
}

// storeNow is the time of day in the store that a run's folder lies in.
func storeNow(dir string) time.Time {
	here := wallNow()
	at, ok := fileTime(dir)
	if !ok {
		return here
	}
	return here.Add(-clockAhead(here, at))
}

// storeClock remembers how far this host's clock is ahead of a store's.
type storeClock struct {
	mu     sync.Mutex
	by     time.Duration
	looked time.Time
}

// clockEvery is how often that is found out anew: clocks drift slowly, and are set seldom.
const clockEvery = time.Minute

// ahead is how far this host's clock is ahead of that of the store which a run's folder lies in; 0 where that cannot be learnt.
func (c *storeClock) ahead(dir string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.looked.IsZero() || time.Since(c.looked) > clockEvery {
		c.looked = time.Now()
		c.by = clockAhead(c.looked, fileNow(dir, c.looked))
	}
	return c.by
}

// Clock is the time of day in the run's store where it is here on this host.
func (in *Info) Clock(here time.Time) time.Time { return here.Add(-in.ahead) }

// timeOf is the time of day by the clock of the file system that a file or folder of this user's lies on, which it is touched to
// learn; where that is not possible, by the clock of this host.
func timeOf(path string) time.Time {
	here := wallNow()
	var st unix.Stat_t
	if touch(path) != nil || unix.Lstat(path, &st) != nil {
		return here
	}
	return here.Add(-clockAhead(here, time.Unix(st.Mtim.Unix())))
}

// touch gives a file the time of now, and not one of ours: a file server uses its own then.
func touch(path string) error {
	now := []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}
	return unix.UtimesNanoAt(unix.AT_FDCWD, path, now, unix.AT_SYMLINK_NOFOLLOW)
}

// Whether a heart still beats is judged by the clock of the file system that it beats on, and never by comparing those of
// two hosts, which may be minutes apart: the time of a file that is written now is compared with that of the heartbeat.

// probePrefix begins the names of the files, one of each user in a folder of runs, that are touched to learn what time a file
// system has.
const probePrefix = ".time-"

// fileTime is the time that the file system gives to what changes now in the folder of a run; false: it cannot be learnt, because
// this user may not write to the folder of runs, or nothing can be written. For somebody else's run no file is made: one is touched
// where this user has runs of his own there.
func fileTime(dir string) (time.Time, bool) {
	path := filepath.Join(filepath.Dir(dir), probePrefix+strconv.Itoa(os.Geteuid()))
	flags := os.O_WRONLY
	if ownerOf(dir) == os.Geteuid() {
		flags |= os.O_CREATE
	}
	f, err := regular.OpenFile(path, flags, protocol.FileMode)
	if err != nil {
		return time.Time{}, false
	}
	defer f.Close()
	if err := touch(path); err != nil {
		return time.Time{}, false
	}
	st, err := f.Stat()
	if err != nil {
		return time.Time{}, false
	}
	return st.ModTime(), true
}

// fileNow is fileTime, or where that cannot be learnt the time of this host.
func fileNow(dir string, here time.Time) time.Time {
	if at, ok := fileTime(dir); ok {
		return at
	}
	return here
}

// staleness watches one heart. What it has seen change on its own clock needs no other.
type staleness struct {
	dir   string
	file  string // whose changes are the beats; empty: the agent's
	beat  time.Time
	since time.Time // when the beat was first seen
}

// age is how old the last beat is; where there never was one, as old as can be.
func (s *staleness) age() time.Duration {
	st, err := os.Stat(filepath.Join(s.dir, cmp.Or(s.file, protocol.HeartbeatFile)))
	if err != nil {
		return 1<<63 - 1
	}
	if !st.ModTime().Equal(s.beat) {
		s.beat, s.since = st.ModTime(), time.Now()
	}
	seen := time.Since(s.since)
	if now, ok := fileTime(s.dir); ok {
		return max(seen, now.Sub(s.beat))
	}
	return seen
}
