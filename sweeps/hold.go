package sweeps

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"boost-tui/internal/regular"
	"boost-tui/runner"
	"boost-tui/runner/protocol"

	"golang.org/x/sys/unix"
)

// Hold says that this program looks after a sweep, and no other does. It ends by Release or with the process, however
// that ends. Its methods may be used by several goroutines. Each checks what it writes against everything that others
// have written so far: what does not fit any more is ErrChanged, and a sweep that was taken over is ErrLost.
type Hold struct {
	sweep *Sweep
	lock  *os.File // locked
	me    runner.Process
	epoch int

	mu       sync.Mutex
	tail     tail
	released bool

	stop     context.CancelFunc
	beating  sync.WaitGroup
	lost     chan struct{}
	lostOnce sync.Once
}

// Patience of Hold: how long it waits for a holder that is on its way out, which is dead but not yet buried.
const holdPatience = time.Second

// Hold makes this program the one that looks after the sweep. ErrHeld: another does. The sweep must be the user's own:
// a program that runs what is written in another user's folder would run it in their name.
func (s *Sweep) Hold(ctx context.Context) (*Hold, error) {
	h, err := s.hold(ctx)
	if err != nil {
		return nil, fmt.Errorf("look after sweep %s: %w", s.ID, err)
	}
	return h, nil
}

func (s *Sweep) hold(ctx context.Context) (h *Hold, err error) {
	if err := s.owned(); err != nil {
		return nil, err
	}
	h = &Hold{sweep: s, lost: make(chan struct{})}
	if h.me, err = runner.Self(); err != nil {
		return nil, err
	}
	if _, err := h.tail.read(ctx, s.Dir); err != nil { // the long part, before others wait
		return nil, err
	}
	lock, err := s.takeLock(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = join(err, lock.Close())
		}
	}()
	h.lock = lock
	// The lock is of this machine, or of the server where that keeps locks for all its clients. A program of another
	// machine may hold the sweep all the same; one of this machine (its boot) cannot, where files can be locked.
	before := look(s.Dir, time.Now())
	if p := before.holder.Process; before.held && p != h.me && (p.Boot != h.me.Boot || p.PIDSpace == h.me.PIDSpace) {
		return nil, ErrHeld{p.PID, p.Host}
	}
	if err := h.enter(before); err != nil {
		return nil, err
	}
	ctx, h.stop = context.WithCancel(context.WithoutCancel(ctx))
	h.beating.Add(1)
	go h.beat(ctx)
	return h, nil
}

// owned refuses the sweep of another user.
func (s *Sweep) owned() error {
	st, err := os.Lstat(s.Dir)
	if err != nil {
		return gone(err)
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); !ok || int(sys.Uid) != os.Geteuid() {
		return errors.New("it belongs to another user")
	}
	return nil
}

// takeLock takes the lock that the holder keeps.
func (s *Sweep) takeLock(ctx context.Context) (*os.File, error) {
	f, err := regular.OpenFile(filepath.Join(s.Dir, HoldFile), os.O_RDWR|os.O_CREATE, protocol.FileMode)
	if err != nil {
		return nil, full(gone(err))
	}
	for start := time.Now(); ; {
		err := lock(f, 0)
		if err == nil || errors.Is(err, errNoLocks) { // then holder.json and the journal tell, as between machines
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, join(err, f.Close())
		}
		seen := look(s.Dir, time.Now())
		if seen.held {
			return nil, join(ErrHeld{seen.holder.PID, seen.holder.Host}, f.Close())
		}
		if time.Since(start) > holdPatience {
			return nil, join(ErrHeld{}, f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, join(ctx.Err(), f.Close())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// enter says in the directory who looks after the sweep, and in the journal that another sitting has begun, and when
// the one before ended where its program could not say so.
func (h *Hold) enter(before presence) error {
	data, err := json.Marshal(holder{Schema: Schema, Process: h.me, Started: time.Now().UTC()})
	if err != nil {
		return err
	}
	if err := writeReserve(h.sweep.Dir); err != nil {
		return full(err)
	}
	if err := touch(h.sweep.Dir, os.O_CREATE); err != nil { // before holder.json, so that there is never one without the other
		return full(err)
	}
	if err := protocol.WriteFile(filepath.Join(h.sweep.Dir, HolderFile), append(data, '\n')); err != nil {
		return full(err)
	}
	err = h.write(func(r *replay) (*line, error) {
		h.epoch = r.epoch + 1
		l := &line{K: kindHold, Epoch: h.epoch, Process: &h.me}
		if r.open && before.holder.Process == r.process && !before.beat.IsZero() {
			l.Until = before.beat.UnixNano()
		}
		return l, nil
	})
	if err != nil {
		return errors.Join(err, ignoreMissing(os.Remove(filepath.Join(h.sweep.Dir, HolderFile))))
	}
	return nil
}

// write appends the line that ask gives, and replays it.
func (h *Hold) write(ask func(r *replay) (*line, error)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.sweep.locked(&h.tail, func(j *journal) error {
		l, err := ask(h.tail.replay)
		if err != nil {
			return err
		}
		return j.append(l)
	})
	if errors.Is(err, ErrLost) || errors.Is(err, ErrDeleted) {
		h.lose()
	}
	return err
}

// say is write for a line of the sitting. Its last words may use the room that was kept for them.
func (h *Hold) say(what string, last bool, ask func(r *replay) (*line, error)) error {
	mine := func(r *replay) (*line, error) {
		if !r.open || r.epoch != h.epoch {
			return nil, ErrLost
		}
		l, err := ask(r)
		if l != nil {
			l.Epoch = h.epoch
		}
		return l, err
	}
	err := h.write(mine)
	if last && (errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)) && dropReserve(h.sweep.Dir) == nil {
		err = h.write(mine)
	}
	if err != nil {
		return fmt.Errorf("sweep %s: %s: %w", h.sweep.ID, what, err)
	}
	return nil
}

// Lost is closed when the sweep was deleted or another program took it over. Whoever holds it must then start nothing
// more and end what it alone knows of.
func (h *Hold) Lost() <-chan struct{} { return h.lost }

func (h *Hold) lose() { h.lostOnce.Do(func() { close(h.lost) }) }

// Release says that this program no longer looks after the sweep. Later calls of other methods are ErrLost.
func (h *Hold) Release() error {
	h.mu.Lock()
	again := h.released
	h.released = true
	h.mu.Unlock()
	if again {
		return nil
	}
	h.stop()
	h.beating.Wait()
	err := h.say("release", true, func(*replay) (*line, error) { return &line{K: kindRelease}, nil })
	if errors.Is(err, ErrLost) || errors.Is(err, ErrDeleted) { // nothing is left that could be given back
		return h.lock.Close()
	}
	return errors.Join(err, ignoreMissing(dropReserve(h.sweep.Dir)),
		ignoreMissing(os.Remove(filepath.Join(h.sweep.Dir, HolderFile))), h.lock.Close())
}

// join keeps an error as it is where nothing else went wrong.
func join(err, other error) error {
	if other == nil {
		return err
	}
	return errors.Join(err, other)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
