package runner

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"boost-tui/profiler/record"
)

// Lock is a lock that holds between machines which share a file system, also one that keeps no locks for its clients (NFS
// without a lock manager, Lustre with local locks): a link that names its holder. Making a link is one request to the server,
// and of several that make it one succeeds.
//
// It is for moments: a change to a file, not the life of a program. A holder that died is found out at once on its own
// machine, and elsewhere by the age of its lock. So a holder that is stopped for long may lose it, and asks Held before it
// writes.
type Lock struct {
	path, token string
	taken       time.Time
}

const (
	// lockStale is how long the lock of a process that cannot be looked at may stay the same: what it covers takes milliseconds.
	lockStale = 10 * time.Second
	// lockPoll is the longest pause between two looks at a lock that is held.
	lockPoll = 50 * time.Millisecond
)

// ErrLockLost is in the error about a lock that another program has broken since.
var ErrLockLost = errors.New("it took so long that another program took the lock")

// TakeLock waits until nobody else holds the lock of that name, for so long as patience at most, which should be longer than
// ten seconds: then only a holder that lives and is stopped is in the way.
func TakeLock(path string, patience time.Duration) (*Lock, error) {
	me, err := self()
	if err != nil {
		return nil, err
	}
	l := &Lock{path: path, token: me.mark() + "-" + nonce()}
	seen, since := "", time.Now()
	for start, pause := time.Now(), time.Millisecond; ; pause = min(2*pause, lockPoll) {
		err := os.Symlink(l.token, path)
		if err == nil {
			l.taken = time.Now()
			return l, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, record.ExplainFor(err, "remove old runs", "only who may write in the folder can change what is in it")
		}
		revalidate(filepath.Dir(path))
		holder, err := os.Readlink(path)
		switch {
		case err == nil && holder == l.token: // the server's answer was lost, and the request made again
			l.taken = time.Now()
			return l, nil
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, fmt.Errorf("lock %s: there is something else in its place: %w", path, err)
		case holder != seen:
			seen, since = holder, time.Now()
		}
		lives, known := lookMark(holder, me)
		if known && !lives || !known && time.Since(since) > lockStale {
			if err := takeAway(path, holder); err != nil {
				return nil, fmt.Errorf("lock %s is left over from %s: %w", path, linkOwner(path), err)
			}
			continue
		}
		if time.Since(start) >= patience {
			return nil, fmt.Errorf("lock %s: %s has held it for %s: is it stopped?", path, whoMark(holder, known), patience)
		}
		time.Sleep(pause)
	}
}

// takeOwnLock is TakeLock in a folder of this user's runs: nobody else has a reason to hold a lock there.
func takeOwnLock(path string, patience time.Duration) (*Lock, error) {
	if st, err := os.Lstat(path); err == nil && !owned(st) && ownerOf(filepath.Dir(path)) == os.Geteuid() {
		return nil, fmt.Errorf("lock %s is not this user's: it belongs to %s, who can remove it, and so can the owner of its folder", path, linkOwner(path))
	}
	return TakeLock(path, patience)
}

// linkOwner is the name of the user whose link that is.
func linkOwner(path string) string {
	if st, err := os.Lstat(path); err == nil {
		if sys, ok := st.Sys().(*syscall.Stat_t); ok {
			return ownerName(int(sys.Uid))
		}
	}
	return ownerName(-1)
}

// Held reports whether the lock is still this one's; ErrLockLost.
func (l *Lock) Held() error {
	if time.Since(l.taken) < lockStale/2 { // nobody has broken it yet
		return nil
	}
	revalidate(filepath.Dir(l.path))
	if holder, err := os.Readlink(l.path); err != nil || holder != l.token {
		return fmt.Errorf("lock %s: %w", l.path, ErrLockLost)
	}
	return nil
}

// Release gives the lock back.
func (l *Lock) Release() {
	if time.Since(l.taken) < lockStale/2 {
		_ = os.Remove(l.path) // its folder may be gone; whoever finds it otherwise breaks it
		return
	}
	_ = takeAway(l.path, l.token) // whoever finds it breaks it
}

// takeAway removes a lock that bears the token, and no other: of two that take it away at once one gets it, and one that
// was made meanwhile is put back. The error is about one that this user may not take away.
func takeAway(path, token string) error {
	if holder, err := os.Readlink(path); err != nil || holder != token {
		return nil
	}
	aside := path + "." + nonce()
	if err := os.Rename(path, aside); err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return err
		}
		return nil
	}
	if holder, err := os.Readlink(aside); err == nil && holder != token {
		_ = os.Symlink(holder, path) // where that fails another has taken it, and Held tells the one it was taken from
	}
	_ = os.Remove(aside)
	return nil
}

func nonce() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// lookMark reports whether the process lives whose mark a text begins with; known is false for one of another machine.
func lookMark(text string, me Process) (lives, known bool) {
	p, ok := maker(newPrefix+text, me)
	if !ok {
		return false, false
	}
	switch p.look(me) {
	case alive:
		return true, true
	case dead:
		return false, true
	}
	return false, false
}

func whoMark(text string, known bool) string {
	if fields := strings.Split(text, "-"); known && len(fields) > 1 {
		return "process " + clean(fields[1], 20) + " of this machine"
	}
	return "a program of another machine"
}
