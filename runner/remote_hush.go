package runner

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// sessionSilence is how long a session hears nothing of its conductor, which says something each second, until it ends: the
// conductor has made another one by then (hushed), or is gone in a way that nobody tells this host. TCP alone would take up to a
// quarter of an hour to notice, and some seconds more than a short break lasted.
const sessionSilence = 15 * time.Second

// hearing is a session's stdin, and when it was heard last.
type hearing struct {
	in io.Reader

	mu sync.Mutex
	at time.Time
}

func newHearing(in io.Reader) *hearing { return &hearing{in: in, at: time.Now()} }

// Read implements io.Reader.
func (h *hearing) Read(p []byte) (int, error) {
	n, err := h.in.Read(p)
	if n > 0 {
		h.mu.Lock()
		h.at = time.Now()
		h.mu.Unlock()
	}
	return n, err
}

func (h *hearing) silence(now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return now.Sub(h.at)
}

// watch calls end once when nothing was heard for the limit. stop ends the watch, and waits for it.
func (h *hearing) watch(limit time.Duration, end func()) (stop func()) {
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(limit / 15)
		defer tick.Stop()
		last := time.Now()
		for {
			select {
			case <-over:
				return
			case now := <-tick.C:
				if now.Sub(last) > limit/3 { // this process stood still, and what it was told meanwhile is not read yet
					h.mu.Lock()
					h.at = now
					h.mu.Unlock()
				}
				last = now
				if h.silence(now) > limit {
					end()
					return
				}
			}
		}
	})
	return func() {
		close(over)
		wg.Wait()
	}
}

// endConnection ends the server of the ssh connection that this session came by, and so all that still runs for the connection:
// it is this run's alone. Where there is none, nothing happens.
func endConnection() {
	const generations = 4 // a shell of the user's may stand between
	pid := os.Getppid()
	for range generations {
		name, parent, uid, err := kin(pid)
		if err != nil || uid != os.Getuid() {
			return
		}
		if strings.HasPrefix(name, "sshd") { // sshd-session from OpenSSH 9.8 on
			_ = syscall.Kill(pid, syscall.SIGTERM) // one that has ended is as good
			return
		}
		pid = parent
	}
}

// kin reads of a process how it is called, whose child it is, and its user.
func kin(pid int) (name string, parent, uid int, err error) {
	if pid <= 1 {
		return "", 0, 0, fmt.Errorf("process %d is no session's", pid)
	}
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return "", 0, 0, err
	}
	parent, uid = -1, -1
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(line, ":")
		f := strings.Fields(value)
		if len(f) == 0 {
			continue
		}
		switch key {
		case "Name":
			name = f[0]
		case "PPid":
			parent, err = strconv.Atoi(f[0])
		case "Uid":
			uid, err = strconv.Atoi(f[0])
		}
		if err != nil {
			return "", 0, 0, err
		}
	}
	return name, parent, uid, nil
}
