package tui

import (
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// stateLock makes one of a user's UIs the one that writes the session.
type stateLock struct {
	path string
	mu   sync.Mutex
	file *os.File // while held
	sure bool     // locks do not work here: every UI holds it
}

// Held takes the lock if nobody else has it, and reports whether it is held.
// Where locks do not work, every UI holds it.
func (l *stateLock) Held() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil || l.sure {
		return true
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		l.sure = true
		return true
	}
	if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		l.file = f
		return true
	}
	f.Close()
	l.sure = !errors.Is(err, unix.EWOULDBLOCK)
	return l.sure
}

// Close gives the lock up.
func (l *stateLock) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
