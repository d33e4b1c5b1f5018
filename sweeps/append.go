package sweeps

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"boost-tui/internal/regular"
	"boost-tui/profiler/record"
	"boost-tui/runner"

	"golang.org/x/sys/unix"
)

// lockPatience is how long an append waits for whoever appends at the moment. It takes milliseconds; a program that
// is stopped in the middle of it must not hang everybody else.
const lockPatience = 10 * time.Second

// sharedPatience is how long it waits for one of another machine, which may have died in the middle.
const sharedPatience = 15 * time.Second

// errNoLocks is in the error about a file system that keeps no locks of files.
var errNoLocks = errors.New("its file system keeps no locks (flock)")

// journal is the journal of a sweep open for appending, locked: nobody else appends meanwhile, so what was read of it
// is all there is.
type journal struct {
	f    *os.File
	lock *runner.Lock // against programs of other machines
	size int64
}

// locked calls do with the journal locked, after t has replayed all of it.
func (s *Sweep) locked(t *tail, do func(j *journal) error) error {
	path := filepath.Join(s.Dir, JournalFile)
	f, err := regular.OpenFile(path, os.O_RDWR|os.O_APPEND, 0) // never made here: a deleted sweep stays deleted
	if err != nil {
		return record.ExplainFor(gone(err), "", "only who may write in the sweep's folder can change it")
	}
	defer f.Close() // gives the file's lock back; what was written is on the disk by then, or its error was returned
	if err := lock(f, lockPatience); err != nil && !errors.Is(err, errNoLocks) {
		return err
	}
	// The file's lock is quick and dies with its holder, but not every file system shares it with other machines.
	shared, err := runner.TakeLock(filepath.Join(s.Dir, LockFile), sharedPatience)
	if err != nil {
		return gone(err)
	}
	defer shared.Release()
	if err := stillThere(f, path); err != nil {
		return err
	}
	j := &journal{f: f, lock: shared}
	if err := j.end(); err != nil {
		return err
	}
	if _, err := t.readFrom(context.Background(), s.Dir, f); err != nil {
		return err
	}
	return do(j)
}

// lock takes the lock of a file for this program alone: against others of this machine, and of other machines where the file
// system shares locks. errNoLocks: it keeps none.
func lock(f *os.File, patience time.Duration) error {
	for start, pause := time.Now(), time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP):
			return fmt.Errorf("lock %s: %w", f.Name(), errNoLocks)
		case !errors.Is(err, unix.EWOULDBLOCK):
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		case time.Since(start) >= patience:
			return fmt.Errorf("lock %s: another program has held it for %s; is it stopped?: %w", f.Name(), patience, err)
		}
		time.Sleep(pause)
	}
}

// stillThere makes sure that the file that was locked is the one that others find.
func stillThere(f *os.File, path string) error {
	named, err := os.Lstat(path)
	if err != nil {
		return gone(err)
	}
	held, err := f.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(named, held) {
		return fmt.Errorf("%w: %s was replaced", ErrChanged, path)
	}
	return nil
}

// end finds out where the journal ends. A line that whoever wrote it did not live to end is ended here: only then is
// it known what stands before the next one.
func (j *journal) end() error {
	st, err := j.f.Stat()
	if err != nil {
		return err
	}
	if j.size = st.Size(); j.size == 0 {
		return nil
	}
	var last [1]byte
	if _, err := j.f.ReadAt(last[:], j.size-1); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the end of %s: %w", j.f.Name(), err)
	}
	if last[0] == '\n' {
		return nil
	}
	return j.write([]byte{'\n'})
}

// append writes one line with one write, and waits until it is on the disk where it must be.
func (j *journal) append(l *line) error {
	l.T = time.Now().UnixNano()
	data, err := l.encode()
	if err != nil {
		return err
	}
	if j.size+int64(len(data)) > maxJournalBytes {
		return fmt.Errorf("%s has reached %d bytes: start another sweep for what is left", j.f.Name(), j.size)
	}
	if err := j.write(data); err != nil {
		return err
	}
	if !l.lasting() {
		return nil
	}
	if err := j.f.Sync(); err != nil { // the line stands, but may not survive a power failure
		return fmt.Errorf("append to %s: %w", j.f.Name(), full(bare(err)))
	}
	return nil
}

// write writes at the end. A part that could be written is taken back; where that fails too, the next append ends it.
func (j *journal) write(data []byte) error {
	if err := j.lock.Held(); err != nil {
		return fmt.Errorf("append to %s: %w", j.f.Name(), err)
	}
	n, err := j.f.Write(data)
	if err == nil {
		j.size += int64(n)
		return nil
	}
	err = fmt.Errorf("append to %s: %w", j.f.Name(), full(bare(err)))
	if n > 0 && n < len(data) {
		err = join(err, j.f.Truncate(j.size))
	}
	return err
}

// syncFolder waits until the names of a folder's files are on the disk: the journal must not name a plan that a power
// failure took.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	if err := join(d.Sync(), d.Close()); err != nil && !errors.Is(err, unix.EINVAL) { // a file system that knows no such thing
		return fmt.Errorf("sync %s: %w", dir, bare(err))
	}
	return nil
}

// full explains the errors of a disk.
func full(err error) error {
	return record.ExplainFor(err, "remove old runs", "only who may write in the sweep's folder can change it")
}

// bare takes the name off an error that says it already.
func bare(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
