package sweeps

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"boost-tui/internal/regular"
)

// Sweep is a sweep of a folder. It is a name: everything else is in its directory, and is read when it is asked for.
type Sweep struct {
	ID, Dir string
}

// Load replays the sweep's journal. A line that was cut off, or that makes no sense, is left out and counted
// (State.BadLines). Errors: ErrDeleted; runner.ErrNewerSchema; a plan that is missing or damaged.
func (s *Sweep) Load(ctx context.Context) (*State, error) {
	st, _, err := s.Follow().next(ctx)
	return st, err
}

// Follow returns a reader that replays only what is new. It holds nothing open.
func (s *Sweep) Follow() *Follower { return &Follower{sweep: s} }

// Follower follows a sweep. It is used by one goroutine at a time; the States that it returns may be kept and read by any.
type Follower struct {
	sweep *Sweep
	tail  tail
	last  *State
	seen  presence
}

// Next is the sweep as it is now. changed is false when only State.Worked can differ from the last call's. An error
// says that the sweep cannot be read now; the next call tries again.
func (f *Follower) Next() (st *State, changed bool, err error) { return f.next(context.Background()) }

func (f *Follower) next(ctx context.Context) (*State, bool, error) {
	grown, err := f.tail.read(ctx, f.sweep.Dir)
	if err != nil {
		return nil, false, fmt.Errorf("sweep %s: %w", f.sweep.ID, err)
	}
	now := time.Now()
	seen := look(f.sweep.Dir, now)
	if f.last == nil || grown || seen.held != f.seen.held || seen.holder.Process != f.seen.holder.Process {
		f.seen, f.last = seen, f.tail.replay.snapshot(f.sweep.Dir, seen, now)
		return f.last, true, nil
	}
	st := *f.last
	f.tail.replay.presence(&st, seen, now)
	f.seen, f.last = seen, &st
	return &st, false, nil
}

// tail replays a journal as it grows.
type tail struct {
	replay *replay
	offset int64       // behind the last whole line that was replayed
	seen   fs.FileInfo // the journal at the last look
	line   line        // this and buf are kept for their memory
	buf    []byte
}

// read replays what is new. grown is false when nothing is.
func (t *tail) read(ctx context.Context, dir string) (grown bool, err error) {
	path := filepath.Join(dir, JournalFile)
	st, err := os.Lstat(path)
	if err != nil {
		return false, gone(err)
	}
	if t.replay != nil && os.SameFile(st, t.seen) && st.Size() == t.seen.Size() && st.ModTime().Equal(t.seen.ModTime()) {
		return false, nil
	}
	f, err := regular.Open(path)
	if err != nil {
		return false, gone(err)
	}
	grown, err = t.readFrom(ctx, dir, f)
	return grown, errors.Join(err, f.Close())
}

// gone explains that a file of the sweep is missing.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrDeleted, err)
	}
	return err
}

// readFrom is read for a journal that is open.
func (t *tail) readFrom(ctx context.Context, dir string, f *os.File) (grown bool, err error) {
	st, err := f.Stat()
	if err != nil {
		return false, err
	}
	if st.Size() > maxJournalBytes {
		return false, fmt.Errorf("%s has %d bytes, more than %d", JournalFile, st.Size(), int64(maxJournalBytes))
	}
	if t.replay == nil || !os.SameFile(st, t.seen) || st.Size() < t.offset { // another journal: somebody put a copy back
		*t = tail{replay: newReplay(func(n int) (plan, error) { return readPlan(dir, n) })}
		grown = true
	}
	fed, err := t.feed(ctx, f)
	if err != nil {
		*t = tail{} // half a line's work may be done; the next read starts anew
		return false, err
	}
	t.seen = st
	return grown || fed, nil
}

// How much of a journal is read at a time: little where it grows by a line, more where all of it is read.
const (
	leastChunk = 4 << 10
	chunkBytes = 1 << 20
)

// feed replays the whole lines behind the offset.
func (t *tail) feed(ctx context.Context, f io.ReaderAt) (fed bool, err error) {
	buf := t.buf[:0]
	for at := t.offset; ; {
		if err := ctx.Err(); err != nil {
			return fed, err
		}
		if len(buf) == cap(buf) { // what is left of a line fills it
			buf = append(make([]byte, 0, min(max(2*cap(buf), leastChunk), 2*maxLineBytes)), buf...)
		}
		n, err := f.ReadAt(buf[len(buf):cap(buf)], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return fed, fmt.Errorf("read %s: %w", JournalFile, err)
		}
		at, buf = at+int64(n), buf[:len(buf)+n]
		used, ferr := t.lines(buf)
		fed = fed || used > 0
		if ferr != nil {
			return fed, ferr
		}
		buf = append(buf[:0], buf[used:]...)
		if len(buf) > maxLineBytes {
			return fed, fmt.Errorf("%s has a line of more than %d bytes at byte %d", JournalFile, maxLineBytes, t.offset)
		}
		if err != nil || n == 0 {
			if cap(buf) <= chunkBytes {
				t.buf = buf
			}
			return fed, nil
		}
		if cap(buf) < chunkBytes { // there is more
			buf = append(make([]byte, 0, chunkBytes), buf...)
		}
	}
}

// lines replays the whole lines at the start of data and says how many bytes those are.
func (t *tail) lines(data []byte) (used int, err error) {
	for {
		n := bytes.IndexByte(data[used:], '\n')
		if n < 0 {
			return used, nil
		}
		if one := bytes.TrimSpace(data[used : used+n]); len(one) > 0 {
			if err := t.replay.feed(one, &t.line); err != nil {
				return used, err
			}
		}
		used += n + 1
		t.offset += int64(n + 1)
	}
}
