package runner

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"boost-tui/internal/regular"
	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"

	"golang.org/x/sys/unix"
)

// guardOrder is what a session tells the guard that it starts, on its stdin.
type guardOrder struct {
	remoteSetup
	Folder string `json:"folder"` // of the run on this host
	Peer   string `json:"peer"`   // address of another host of the run; empty: none is known
}

// startGuard starts the guard of a host's agent, in a session of its own. It returns when that stands over the agent, or says why
// it does not: on a full disk its log holds nothing.
func startGuard(binary string, o guardOrder) error {
	order, err := json.Marshal(o)
	if err != nil {
		return err
	}
	log, err := regular.OpenFile(filepath.Join(o.Folder, protocol.AgentLogFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, protocol.FileMode)
	if err != nil {
		return fmt.Errorf("log of the agent: %w", err)
	}
	defer log.Close() // the guard has its own descriptor
	// The agent's last words have their room while the disk has none. Not every file system can promise it.
	_ = unix.Fallocate(int(log.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, 4096)
	cmd := exec.Command(binary, "remote", "--guard")
	cmd.Dir, cmd.Stderr = "/", log
	cmd.Env = withEnv(o.Env)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	word, says, err := os.Pipe()
	if err != nil {
		return errors.Join(err, r.Close(), w.Close())
	}
	defer word.Close() // nothing is said after the word
	cmd.Stdin, cmd.Stdout = r, says
	err = errors.Join(cmd.Start(), r.Close(), says.Close())
	if err == nil {
		_, err = w.Write(append(order, '\n')) // it fits into the pipe
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return fmt.Errorf("start what stands over the agent: %w", err)
	}
	// It is not waited for: it outlives this session, which ends with the connection. Until then its end leaves an entry in
	// the process table, which Release gives up the claim to.
	return errors.Join(guardWord(word), cmd.Process.Release())
}

// guardWord reads the one line that a guard says: why no agent runs; empty: one does, or another guard sees to it.
func guardWord(r io.Reader) error {
	line, err := readLimited(bufio.NewReader(r), maxSetup)
	if err != nil {
		return errors.New("what was to stand over the agent ended before it did")
	}
	if text := clean(string(bytes.TrimSpace(line)), maxLineRunes); text != "" {
		return errors.New(text)
	}
	return nil
}

// sayWord says it. Who listened may be gone.
func sayWord(w io.Writer, why error) {
	text := ""
	if why != nil {
		text = clean(record.Explain(why).Error(), maxLineRunes)
	}
	_, _ = io.WriteString(w, text+"\n")
}

// guard stands over one agent.
type guard struct {
	o     guardOrder
	rec   hostRecord
	size  int // of the record as it was written last
	agent *localAgent
	over  chan error
	lease lease
	told  bool      // the agent was told to end
	until time.Time // when it is killed; zero: never
	late  time.Time // since when the run has a result; zero: it has none
}

// Guard is the role of who starts a host's agent for a run elsewhere and stands over it until it ends. A foreground run whose
// conductor is not heard of any more it ends. To out goes one line, once it is known whether the agent runs.
func Guard(in io.Reader, out io.Writer) error {
	g, err := newGuard(in)
	if err == nil {
		err = g.begin()
	}
	if errors.Is(err, fs.ErrExist) { // another one was as fast
		sayWord(out, nil)
		return err
	}
	sayWord(out, err)
	if err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	g.watch()
	return g.save()
}

// newGuard reads what the guard is told.
func newGuard(in io.Reader) (*guard, error) {
	line, err := io.ReadAll(io.LimitReader(in, maxSetup))
	if err != nil {
		return nil, err
	}
	var o guardOrder
	if err := json.Unmarshal(line, &o); err != nil {
		return nil, err
	}
	return &guard{o: o, over: make(chan error, 1)}, o.check()
}

// begin starts the agent. When it fails, none is left behind.
func (g *guard) begin() error {
	if err := g.claim(); err != nil {
		return err
	}
	err := g.start()
	if err == nil {
		return nil
	}
	if g.agent != nil {
		_ = g.agent.Kill() // one that has ended is as good
		<-g.over
	}
	g.rec.Ended, g.rec.Error = true, err.Error()
	return errors.Join(err, g.save())
}

// claim makes this process the only guard of the host.
func (g *guard) claim() error {
	me, err := self()
	if err != nil {
		return err
	}
	g.rec = hostRecord{Name: g.o.Name, Guard: me, Begun: wallNow()}
	data, err := g.rec.encode()
	if err != nil {
		return err
	}
	g.size = len(data)
	return protocol.WriteNew(hostPath(g.o.Folder, g.o.Host), data)
}

// save writes the record anew; on a full disk over the one that is there, which has its room. What is read meanwhile ends where
// either does, so that no record is shorter than the last.
func (g *guard) save() error {
	data, err := g.rec.encode()
	if err != nil {
		return err
	}
	data = append(data, bytes.Repeat([]byte(" "), max(0, g.size-len(data)))...)
	g.size = len(data)
	path := hostPath(g.o.Folder, g.o.Host)
	if err = protocol.WriteFile(path, data); err == nil || writeInPlace(path, string(data)) == nil {
		return nil
	}
	return err
}

func (g *guard) start() error {
	binary, err := Binary()
	if err != nil {
		return err
	}
	j := Job{Dir: g.o.Folder, Binary: binary, Foreground: g.o.Foreground, Holder: heldByGuard}
	share := g.o.share()
	share.Peer = g.o.Peer
	if g.agent, err = startAgent(j, nil, share.args()...); err != nil {
		return err
	}
	go func() { g.over <- g.agent.Wait() }() // it lives exactly as long as the agent; watch waits for it
	g.rec.Agent = here()
	g.rec.Agent.PID = g.agent.cmd.Process.Pid
	if st, err := procStat(g.rec.Agent.PID); err == nil {
		g.rec.Agent.StartTicks = st.startTicks
	}
	return g.save()
}

// watch waits for the agent.
func (g *guard) watch() {
	g.lease.begin(leasePath(g.o.Folder, g.o.Host), time.Duration(g.o.Lease)*time.Second)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-g.over:
			g.rec.Ended = true
			if err != nil {
				g.rec.Error = err.Error()
				if line := lastLine(filepath.Join(g.o.Folder, protocol.AgentLogFile)); line != "" {
					g.rec.Error += ": " + line
				}
			}
			return
		case <-tick.C:
			g.look(time.Now())
		}
	}
}

// look ends an agent that nobody waits for any more.
func (g *guard) look(now time.Time) {
	if !g.until.IsZero() && now.After(g.until) && !saving(g.o.Folder) {
		_ = g.agent.Kill() // one that has ended is as good
	}
	if g.told {
		return
	}
	if _, err := os.Lstat(filepath.Join(g.o.Folder, protocol.ResultFile)); err == nil && !g.o.scattered() {
		if g.late.IsZero() {
			g.late = now
		}
		if now.Sub(g.late) > remoteStale {
			g.end(now, "the run is over already")
			return
		}
	}
	if g.o.Foreground && g.lease.ended(now) {
		g.end(now, conductUnheard(g.o.Name, now.Sub(g.lease.seen)))
	}
}

func (g *guard) end(now time.Time, reason string) {
	g.told, g.until = true, now.Add(cancelPatience)
	_ = g.agent.Cancel(reason) // where it cannot hear, it is killed
}

// lease tells whether the conductor is heard: a session changes a file each second. How old the file is no clock is asked; that it
// changes is seen here.
type lease struct {
	path  string
	limit time.Duration
	was   []byte
	seen  time.Time // when it changed last
}

func (l *lease) begin(path string, limit time.Duration) {
	*l = lease{path: path, limit: limit, seen: time.Now()}
}

func (l *lease) ended(now time.Time) bool {
	if data, err := protocol.ReadFile(l.path, 4096); err == nil && !bytes.Equal(data, l.was) {
		l.was, l.seen = data, now
	}
	return now.Sub(l.seen) > l.limit
}

// renewLease says what the file of a lease is to say. Without the run's folder nothing is said: the agent notices that itself.
func renewLease(path, text string) error {
	err := writeInPlace(path, text)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// writeInPlace overwrites a small file: on a full disk a new one could not be written.
func writeInPlace(path, text string) error {
	f, err := regular.OpenFile(path, os.O_WRONLY|os.O_CREATE, protocol.FileMode)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(text), 0)
	if err == nil {
		err = f.Truncate(int64(len(text)))
	}
	return errors.Join(err, f.Close())
}
