package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"boost-tui/runner/mirror"
	"boost-tui/runner/ssh"
)

const (
	// redialFirst and redialMost are how long a host is let be before it is tried again.
	redialFirst = 300 * time.Millisecond
	redialMost  = time.Second
	// redialPatience is how long most attempts to reach a host again may take: while a network is cut an attempt hears nothing, and
	// the next one finds it healed sooner than this one's packets are sent again.
	redialPatience = 3 * time.Second
	// hushed is how long a session may say nothing, although its connection stands, before it is made anew: it says something
	// each second.
	hushed = 6 * time.Second
	// fetchTries is how often the last files of a host are fetched, when that fails: about a minute long.
	fetchTries = 20
)

// sshHost is a host of a run: the connection to it, which is made again when it breaks, and what is known of its agent.
type sshHost struct {
	run     *sshRun
	index   int
	name    string
	hosts   int
	shares  bool   // it sees the run's folder
	program string // path of this program there; empty: it was not looked for
	files   *hostFiles
	fetches int // that failed
	redials int

	settled chan struct{} // closed when the agent has ended, or the host was given up

	mu      sync.Mutex
	link    *ssh.Link
	talk    *talk
	heard   time.Time
	stat    remoteStatus
	folder  string // of the run there
	address string
	why     string // the host was given up
	over    bool
	left    bool // it may hold files of the run
}

// talk is a session with a host.
type talk struct {
	x      *ssh.Session
	keeper *mirror.Keeper
	ended  chan struct{} // closed when the session has ended
	err    error         // how; read after ended
}

func newSSHHost(r *sshRun, index int, name string, hosts int) *sshHost {
	return &sshHost{run: r, index: index, name: name, hosts: hosts, settled: make(chan struct{}), heard: time.Now()}
}

func (h *sshHost) setup() remoteSetup {
	j := h.run.job
	s := remoteSetup{Schema: Schema, Version: j.Run.Versions.Program, Run: j.Run.ID, Host: h.index, Hosts: h.hosts, Name: h.name, World: j.Run.World(),
		Foreground: j.Foreground, Lease: int(h.run.patience.Seconds()), Env: h.run.env}
	if h.run.home == nil {
		s.Dir = j.Dir
	}
	return s
}

func (h *sshHost) share() Share { return Share{Host: h.index, Hosts: h.hosts, Name: h.name} }

// connect reaches the host.
func (h *sshHost) connect(ctx context.Context) error {
	link, err := h.run.config.Connect(ctx, h.name)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.link = link
	h.mu.Unlock()
	return nil
}

// prepare finds out what the host has, and brings it this program if it has not got it.
func (h *sshHost) prepare(ctx context.Context) error {
	a, err := h.link.Look(ctx, ssh.Question{Sum: h.run.sum, Binary: h.run.job.Binary, Dir: h.run.job.Dir, Nonce: nonceName})
	if err != nil {
		return err
	}
	h.shares = a.Nonce == h.run.nonce
	if h.program = a.Program; h.program != "" {
		return nil
	}
	h.program, err = h.link.Put(ctx, h.run.job.Binary, h.run.sum)
	if err == nil || a.Locked == "" {
		return err
	}
	return fmt.Errorf("%w; and %s may not be executed there", err, clean(a.Locked, 200))
}

// open begins a session on the connection.
func (h *sshHost) open(ctx context.Context) error {
	if h.program == "" { // a conductor before this one had looked; the copy may have gone
		if err := h.prepare(ctx); err != nil {
			return err
		}
	}
	x, err := h.link.Start(ctx, h.program, "remote", h.run.lines)
	if err != nil {
		return err
	}
	t := &talk{x: x, ended: make(chan struct{}), keeper: &mirror.Keeper{In: x.Out, Out: x.In, Handle: h.handle}}
	stop := context.AfterFunc(ctx, x.Kill)
	err = h.greet(t)
	stop()
	if err != nil {
		return h.failed(t, err)
	}
	go func() { // it ends with the session; hangUp waits for it
		defer close(t.ended)
		t.err = t.keeper.Run()
	}()
	h.mu.Lock()
	h.talk, h.heard = t, time.Now()
	h.mu.Unlock()
	return nil
}

// greet says what the host is asked for, and what is at home already.
func (h *sshHost) greet(t *talk) error {
	order, err := json.Marshal(h.setup())
	if err != nil {
		return err
	}
	if _, err := t.x.In.Write(append(order, '\n')); err != nil {
		return err
	}
	data, err := t.keeper.Hello()
	if err != nil {
		return err
	}
	var hello remoteHello
	if err := json.Unmarshal(data, &hello); err != nil {
		return errors.New("what it says of itself cannot be read")
	}
	h.mu.Lock()
	h.folder, h.address = hello.Folder, hello.Address
	h.mu.Unlock()
	if h.run.home != nil {
		if h.files == nil {
			if h.files, err = newHostFiles(h); err != nil {
				return err
			}
		}
		t.keeper.Sink = h.files.sink
	}
	if err := t.keeper.Begin(); err != nil || h.run.home == nil {
		return err
	}
	return h.run.home.catchUp(h, t.keeper)
}

// failed says why a session did not come to be.
func (h *sshHost) failed(t *talk, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrClosed) {
		t.x.Close()
		if why := t.x.Failure(false); why != nil {
			return why
		}
		return fmt.Errorf("host %s: the program there ended without a word", h.name)
	}
	t.x.Close()
	return fmt.Errorf("host %s: %s", h.name, clean(err.Error(), maxLineRunes))
}

// start has the agent started, unless it was before.
func (h *sshHost) start(context.Context) error {
	var o remoteStart
	if h.hosts > 1 {
		o.Peer = h.run.hosts[(h.index+1)%h.hosts].reached()
	}
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if h.run.again {
		return nil // where nothing was started the run never began, as the host will say
	}
	if !h.send(mirror.Message{Kind: mirror.Start, Data: data}) {
		return fmt.Errorf("host %s: the connection ended before the run began there", h.name)
	}
	return nil
}

func (h *sshHost) reached() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.address
}

// send sends a message, where the host is connected.
func (h *sshHost) send(m mirror.Message) bool {
	h.mu.Lock()
	t := h.talk
	h.mu.Unlock()
	return t != nil && t.keeper.Send(m) == nil
}

// handle takes what the session says that is no file, and files that are not kept as they come. It runs in the session's goroutine.
func (h *sshHost) handle(m mirror.Message) (taken bool, err error) {
	h.hear()
	if m.Kind != mirror.Status {
		if h.run.home == nil {
			return true, fmt.Errorf("%w: a file, where all hosts see the folder", mirror.ErrMessage)
		}
		return h.files.take(m)
	}
	s, err := parseStatus(m.Data)
	if err != nil {
		return true, err
	}
	if h.run.again && !s.Begun {
		s = remoteStatus{Begun: true, Ended: true, Error: "its agent was never started"}
	}
	h.mu.Lock()
	h.stat = s
	h.mu.Unlock()
	return true, nil
}

// hear counts the host as heard just now.
func (h *sshHost) hear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heard = time.Now()
}

func (h *sshHost) status() remoteStatus {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stat
}

// stillborn reports whether the host's agent could not be started.
func (h *sshHost) stillborn() bool { return h.status().Stillborn }

// lost is why the host was given up; empty: it was not.
func (h *sshHost) lost() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.why
}

func (h *sshHost) silence(now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return now.Sub(h.heard)
}

func (h *sshHost) done() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.over
}

// finish notes that nobody need wait for the host.
func (h *sshHost) finish(why string, left bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.over {
		h.over, h.why, h.left = true, why, left
		close(h.settled)
	}
}

// giveUp stops waiting for the host.
func (h *sshHost) giveUp(why string) { h.finish(why, true) }
