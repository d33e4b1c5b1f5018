package runner

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"time"

	"boost-tui/internal/wallclock"
	"boost-tui/runner/protocol"
)

// wallNow is the time of day as records bear it.
func wallNow() time.Time { return wallclock.Now().UTC() }

func wallNanos() int64 { return wallclock.UnixNano() }

// Whether a heart still beats is judged by the clock of the file system that it beats on, and never by comparing those of
// two hosts, which may be minutes apart: the time of a file that is written now is compared with that of the heartbeat.

// probePrefix begins the names of files that are written to learn what time a file system has.
const probePrefix = ".time-"

// fileTime is the time that the file system of a folder gives to what is written now; false: it cannot be learnt, because this
// user may not write there, or nothing can be written.
func fileTime(dir string) (time.Time, bool) {
	var b [6]byte
	if _, err := rand.Read(b[:]); err != nil {
		return time.Time{}, false
	}
	path := filepath.Join(dir, probePrefix+hex.EncodeToString(b[:]))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, protocol.FileMode)
	if err != nil {
		return time.Time{}, false
	}
	defer os.Remove(path)
	st, err := f.Stat()
	if f.Close() != nil || err != nil {
		return time.Time{}, false
	}
	return st.ModTime(), true
}

// fileNow is fileTime, or where that cannot be learnt the time of this host.
func fileNow(dir string) time.Time {
	if at, ok := fileTime(dir); ok {
		return at
	}
	return time.Now()
}

// staleness watches one heart. What it has seen change on its own clock needs no other.
type staleness struct {
	dir   string
	beat  time.Time
	since time.Time // when the beat was first seen
}

// age is how old the last beat is; where there never was one, as old as can be.
func (s *staleness) age() time.Duration {
	st, err := os.Stat(filepath.Join(s.dir, protocol.HeartbeatFile))
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
