package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"boost-tui/profiler/record"
	"boost-tui/runner/mirror"
	"boost-tui/runner/protocol"
)

// RemoteOptions is what the session of a host is told by the program that it is part of.
type RemoteOptions struct {
	In      io.Reader
	Out     io.Writer
	Version string // of the program
}

// remoteHello is what a session says first.
type remoteHello struct {
	Host    string `json:"host"`    // its own name
	Folder  string `json:"folder"`  // of the run there
	Address string `json:"address"` // at which ssh reached it; empty: unknown
}

// remoteStart is what a session is told when its agent is to begin.
type remoteStart struct {
	Peer string `json:"peer"` // address of another host, where one is known
}

// session is the state of the role.
type session struct {
	o      remoteSetup
	binary string
	folder string
	me     Process
	beats  int
	erase  bool
	// trouble is why the agent could not be started; empty: it was, or nobody asked for it.
	trouble string
}

// Remote is the role of who speaks for a host with the conductor of a run elsewhere, over the ssh connection that is its stdin
// and stdout. It ends with the connection; the agent does not. What has ended a connection cannot be seen from here, be it the
// conductor, its ssh or the network: a conductor that lives comes back, and the machine that it was on knows when one was killed.
func Remote(ctx context.Context, o RemoteOptions) error {
	heard := newHearing(o.In)
	in := bufio.NewReaderSize(heard, 64<<10)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer heard.watch(sessionSilence, func() {
		endConnection() // a write that waits for it ends, too
		cancel(fmt.Errorf("nothing was heard of the run's conductor for %v", sessionSilence))
	})()
	s, err := openSession(in, o.Version)
	if err != nil {
		// The other side waits for a message, and this is the only way to tell it.
		text := err.Error()
		return errors.Join(err, mirror.Message{Kind: mirror.Trouble, Data: []byte(text)}.Write(o.Out))
	}
	server, closeAll, err := s.server(in, o.Out)
	if err != nil {
		return errors.Join(err, mirror.Message{Kind: mirror.Trouble, Data: []byte(err.Error())}.Write(o.Out))
	}
	// Whoever comes is there, though the session may end before the first beat: while the disk at home is full none lasts.
	renewed := s.renew()
	err = server.Run(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return errors.Join(err, renewed, closeAll(), s.leave())
}

// openSession reads what is asked of this host and makes a place for the run.
func openSession(in *bufio.Reader, version string) (*session, error) {
	line, err := readLimited(in, maxSetup)
	if err != nil {
		return nil, fmt.Errorf("what the run asks of this host did not arrive: %w", err)
	}
	s := &session{me: here()}
	if s.o, err = parseSetup(line); err != nil {
		return nil, err
	}
	if s.o.Version != version {
		return nil, fmt.Errorf("it has %s, the run is of %s: use one and the same program", version, s.o.Version)
	}
	if s.binary, err = Binary(); err != nil {
		return nil, err
	}
	s.folder = s.o.Dir
	if !s.o.scattered() {
		return s, nil
	}
	if s.folder, err = scatteredDir(s.o.Run, s.o.Host); err != nil {
		return nil, err
	}
	return s, record.Explain(s.makePlace())
}

// makePlace makes the folder of this host's part of the run.
func (s *session) makePlace() error {
	err := os.MkdirAll(filepath.Dir(s.folder), protocol.DirMode)
	if err == nil {
		err = os.Mkdir(s.folder, protocol.DirMode)
	}
	switch {
	case err == nil:
		if err = furnish(s.folder); err != nil {
			err = errors.Join(err, os.RemoveAll(s.folder))
		}
	case errors.Is(err, fs.ErrExist): // a session before this one made it
		err = nil
	}
	if err != nil {
		return fmt.Errorf("make a place for the run's files: %w", err)
	}
	// The agent writes one log, under a name that every host's agent uses; home, each has its own.
	log := filepath.Join(s.folder, protocol.AgentLogFile)
	f, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW, protocol.FileMode)
	if err != nil {
		return err
	}
	own := filepath.Join(s.folder, hostLog(s.o.Host))
	if _, err := os.Lstat(own); err != nil {
		_ = os.Link(log, own) // where a file cannot have two names, the log stays here
	}
	return errors.Join(f.Close(), writeIn(s.folder, protocol.ScatteredFile, []byte(s.o.Run+"\n")))
}

// readLimited reads a line of at most so many bytes.
func readLimited(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > limit:
			return nil, fmt.Errorf("a line of more than %d bytes", limit)
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

func (s *session) server(in *bufio.Reader, out io.Writer) (*mirror.Server, func() error, error) {
	hello, err := json.Marshal(remoteHello{Host: s.me.Host, Folder: s.folder, Address: sshAddress(os.Getenv("SSH_CONNECTION"))})
	if err != nil {
		return nil, nil, err
	}
	server := &mirror.Server{In: in, Out: out, Hello: hello, Handle: s.handle,
		Status: func() []byte { return s.status().encode() }}
	if !s.o.scattered() {
		return server, func() error { return nil }, nil
	}
	server.Source = mirror.NewSource(s.folder, homeNames(s.o.share(), s.o.World))
	if server.Sink, err = mirror.NewSink(s.folder, awayNames(s.o.share())); err != nil {
		return nil, nil, err
	}
	return server, server.Sink.Close, nil
}

// sshAddress is the address of this host in SSH_CONNECTION: that of the client with its port, then this one's.
func sshAddress(connection string) string {
	if f := strings.Fields(connection); len(f) == 4 {
		return f[2]
	}
	return ""
}

// handle does what is neither about files nor about the connection.
func (s *session) handle(m mirror.Message) error {
	switch m.Kind {
	case mirror.Start:
		return s.start(m.Data)
	case mirror.Beat:
		s.beats++
		return s.renew()
	case mirror.Cancel:
		return s.cancel(m.Name, string(m.Data))
	case mirror.Erase:
		s.erase = s.o.scattered()
	}
	return nil
}

// renew notes that the conductor is heard.
func (s *session) renew() error {
	return renewLease(leasePath(s.folder, s.o.Host), fmt.Sprintf("%d %d\n", os.Getpid(), s.beats))
}

// status is what has become of the agent.
func (s *session) status() remoteStatus {
	st := statusOf(s.folder, s.o.Host, s.me)
	if s.trouble != "" && (!st.Begun || st.Ended) {
		return remoteStatus{Begun: true, Ended: true, Error: s.trouble, Stillborn: true}
	}
	return st
}

// start has the agent started, unless it was before. Why it could not be is part of the status: another session would do no better.
func (s *session) start(data []byte) error {
	var o remoteStart
	if err := json.Unmarshal(data, &o); err != nil {
		return fmt.Errorf("what the run asks of this host cannot be read: %w", err)
	}
	if statusOf(s.folder, s.o.Host, s.me).Begun {
		return nil
	}
	order := guardOrder{remoteSetup: s.o, Folder: s.folder, Peer: o.Peer}
	err := s.renew()
	if err == nil {
		err = startGuard(s.binary, order)
	}
	if s.trouble = ""; err != nil {
		s.trouble = record.Explain(err).Error()
	}
	return nil
}

// cancelKill is the name of a Cancel that ends the agent at once.
const cancelKill = "kill"

// cancel ends the agent: in good order, or at once.
func (s *session) cancel(how, reason string) error {
	r, err := readHost(s.folder, s.o.Host)
	if err != nil || r.Ended {
		return nil // there is none, or no more
	}
	agent := r.Agent
	if how == cancelKill {
		_ = agent.wake(syscall.SIGKILL) // one that has ended is as good
		return nil
	}
	if s.o.scattered() {
		if err := requestCancel(s.folder, reason); err != nil {
			_ = agent.signal(syscall.SIGTERM) // a full disk: it is told without a reason
		}
	}
	_, _ = agent.signal(syscall.SIGCONT), r.Guard.signal(syscall.SIGCONT) // who is stopped hears nothing
	return nil
}

// leave removes what is needed no longer.
func (s *session) leave() error {
	if !s.erase {
		return nil
	}
	if st := statusOf(s.folder, s.o.Host, s.me); st.Begun && !st.Ended {
		return nil // an agent that still runs keeps its files
	}
	return os.RemoveAll(s.folder)
}
