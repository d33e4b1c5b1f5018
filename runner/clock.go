package runner

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"boost-tui/internal/regular"
	"boost-tui/internal/wallclock"
	"boost-tui/runner/protocol"

	"golang.org/x/sys/unix"
)

// wallNow is the time of day as records bear it.
func wallNow() time.Time { return wallclock.Now().UTC() }

func wallNanos() int64 { return wallclock.UnixNano() }

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
	// Touched, and not with a time of ours: a file server uses its own then, as it does for a heartbeat.
	now := []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, path, now, unix.AT_SYMLINK_NOFOLLOW); err != nil {
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
