package runner

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"boost-tui/internal/regular"
	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"

	"golang.org/x/sys/unix"
)

// One process at most stands over a run, on whichever login node it is. Not every file system keeps locks between
// machines, so conduct.json says which process it is, and changes as long as that lives: another machine goes by its age on
// the file system's clock, the same one by the process itself. Where locks do hold, one is held as well: then even a
// process that is stopped for long keeps its place. By the same file one that is stopped is found when nobody waits for it any
// more (wake.go).

const (
	// standEvery is how often conduct.json changes.
	standEvery = 2 * time.Second
	// standLock is the lock under which it changes hands.
	standLock = ".conduct.lock"
	// standPatience is how long that is waited for.
	standPatience = lockStale + 5*time.Second
)

// errSuperseded is how a conductor ends in whose place another one has come, because it stood still for long.
var errSuperseded = errors.New("another process stands over the run by now")

// post is the place of who stands over a run.
type post struct {
	file *os.File
	text []byte        // of conduct.json, as this process wrote it
	lost chan struct{} // closed when another process has taken the place
	stop chan struct{}
	wg   sync.WaitGroup
}

// standOver makes this process the one that stands over a run from elsewhere. It lasts as long as the process, whatever ends that.
// busy: another one does.
func standOver(dir string) (p *post, busy bool, err error) {
	me, err := self()
	if err != nil {
		return nil, false, err
	}
	return standAs(dir, me, standEvery)
}

func standAs(dir string, me Process, every time.Duration) (*post, bool, error) {
	text, err := json.Marshal(agentFile{Schema: Schema, Process: me, Started: wallNow()})
	if err != nil {
		return nil, false, err
	}
	lock, err := takeOwnLock(filepath.Join(dir, standLock), standPatience)
	if err != nil {
		return nil, false, err
	}
	defer lock.Release()
	if stoodOver(dir, me) {
		return nil, true, nil
	}
	f, err := regular.OpenFile(filepath.Join(dir, protocol.ConductFile), os.O_RDWR|os.O_CREATE, protocol.FileMode)
	if err != nil {
		return nil, false, record.Explain(err)
	}
	p := &post{file: f, text: append(text, '\n'), lost: make(chan struct{}), stop: make(chan struct{})}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, true, f.Close()
	}
	if err == nil || errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.ENOTSUP) { // a file system without locks has to do without
		if err = lock.Held(); err == nil {
			_, err = f.WriteAt(p.text, 0)
			err = errors.Join(err, f.Truncate(int64(len(p.text))))
		}
	}
	if err != nil {
		return nil, false, errors.Join(record.Explain(err), f.Close())
	}
	p.wg.Go(func() { p.keep(filepath.Join(dir, protocol.ConductFile), every) })
	return p, false, nil
}

// stoodOver reports whether a process stands over the run, as far as can be seen. It writes nothing into the run's folder.
func stoodOver(dir string, me Process) bool {
	path := filepath.Join(dir, protocol.ConductFile)
	data, err := protocol.ReadFile(path, maxFileBytes)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 { // nobody ever did, or who did has gone
		return false
	}
	if err == nil {
		if p, err := parseProcess(data, protocol.ConductFile); err == nil {
			switch p.look(me) {
			case alive:
				return true
			case dead:
				return false
			}
		}
	}
	st, err := os.Lstat(path)
	return err != nil || fileNow(dir, time.Now()).Sub(st.ModTime()) < staleAfter || locked(path)
}

// locked reports whether a process holds the lock of a file, where locks can be held.
func locked(path string) bool {
	f, err := regular.Open(path)
	if err != nil {
		return false
	}
	defer f.Close() // lets go of it again
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// keep changes the file again and again, until this process leaves or another one has written itself into it.
func (p *post) keep(path string, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
		}
		if !p.holds(path) {
			close(p.lost)
			return
		}
		if _, err := p.file.WriteAt(p.text, 0); err == nil {
			_ = p.file.Sync() // a client of a file server may keep it for long; the next one may succeed
		}
	}
}

// holds reports whether the file still names this process. One that is gone or cannot be read just now names nobody else.
func (p *post) holds(path string) bool {
	data, err := protocol.ReadFile(path, maxFileBytes)
	return err != nil || len(data) == 0 || string(data) == string(p.text)
}

// superseded reports whether another process has taken the place.
func (p *post) superseded() bool {
	select {
	case <-p.lost:
		return true
	default:
		return false
	}
}

// leave gives the place up.
func (p *post) leave() {
	close(p.stop)
	p.wg.Wait()
	if !p.superseded() {
		_ = p.file.Truncate(0) // else others find out by the process, or the file's age
	}
	_ = p.file.Close() // nothing was written through it that closing could lose
}
