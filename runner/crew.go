package runner

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"boost-tui/internal/regular"
	"boost-tui/profiler/flight"
	"boost-tui/profiler/record"
	"boost-tui/profiler/sample"
	"boost-tui/runner/protocol"
)

// crew is the ranks of a run on this host.
type crew struct {
	dir     string
	run     Run
	o       AgentOptions
	first   int // rank
	end     int // behind the last
	meet    meeting
	threads int
	board   *flight.Board
	segment *os.File         // nil: none
	door    *net.TCPListener // of the host of rank 0
	ranks   []*rank
	exits   chan rankExit
	wg      sync.WaitGroup
}

// rank is one process.
type rank struct {
	index int
	proc  *os.Process
	spec  *os.File // write end of its stdin: its lifeline
	told  syscall.Signal
	card  string // that it computes on; "": none
	ended bool   // its agent has heard of its end
}

// stopped reports whether the rank is stopped (SIGSTOP, a debugger).
func (r *rank) stopped() bool {
	st, err := procStat(r.proc.Pid)
	return err == nil && !r.ended && (st.state == 'T' || st.state == 't')
}

// rankExit is a rank's end as the system reports it.
type rankExit struct {
	rank *rank
	wait syscall.WaitStatus
	err  error // the system could not say how it ended
	at   time.Time
}

// specPatience is how long a rank may take to read its specification.
const specPatience = 10 * time.Second

// newCrew prepares what the ranks of this host share. meet is where they meet the others; where rank 0 is among them, it
// is made here.
func newCrew(dir string, run Run, o AgentOptions, meet meeting) (*crew, error) {
	c := &crew{dir: dir, run: run, o: o, meet: meet}
	c.first, c.end = o.Share.ranks(run.World())
	c.threads, c.exits = max(1, runtime.GOMAXPROCS(0)/c.size()), make(chan rankExit, c.size())
	var err error
	if c.o.Binary == "" {
		if c.o.Binary, err = Binary(); err != nil {
			return nil, err
		}
	}
	if c.board, err = flight.Create(c.size()); err != nil {
		return nil, err
	}
	if o.NewSegment != nil {
		if c.segment, err = o.NewSegment(); err != nil {
			return nil, errors.Join(fmt.Errorf("memory that the ranks share: %w", err), c.board.Close())
		}
	}
	if o.Share.leads() {
		if err := c.openDoor(); err != nil {
			c.closeFiles()
			return nil, err
		}
	}
	return c, nil
}

// size is the number of ranks on this host.
func (c *crew) size() int { return c.end - c.first }

// slot is a rank's place among those of this host, also on the flight board.
func (c *crew) slot(r *rank) int { return r.index - c.first }

// openDoor makes the socket that the ranks meet at, and the run's secret, and tells the agents of other hosts. It is
// bound here, so that no rank needs to guess a port or to wait until rank 0 has one.
func (c *crew) openDoor() error {
	if c.meet.Secret == "" {
		var secret [32]byte
		if _, err := rand.Read(secret[:]); err != nil {
			return fmt.Errorf("secret of the run: %w", err)
		}
		c.meet.Secret = hex.EncodeToString(secret[:])
	}
	at := net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}
	if c.o.Share.several() {
		at.IP = net.ParseIP(c.o.Share.Address)
	}
	var err error
	if c.door, err = net.ListenTCP("tcp", &at); err != nil {
		return fmt.Errorf("socket that the ranks meet at: %w", err)
	}
	c.meet.Rendezvous = c.door.Addr().String()
	if c.o.Share.several() {
		return writeMeeting(c.dir, c.meet)
	}
	return nil
}

// start starts all ranks. Nothing but the lifeline ties them to the agent: the kernel's signal at a parent's
// death (PR_SET_PDEATHSIG) would end them before they could write down what happened.
func (c *crew) start() error {
	err := c.startAll()
	for _, r := range c.ranks {
		c.wg.Add(1)
		go c.wait(r)
	}
	if err != nil {
		return err
	}
	return c.closeShared()
}

func (c *crew) startAll() error {
	var door *os.File
	if c.door != nil {
		var err error
		if door, err = c.door.File(); err != nil {
			return fmt.Errorf("socket that the ranks meet at: %w", err)
		}
		defer door.Close()
	}
	for i := c.first; i < c.end; i++ {
		if err := c.startRank(i, door); err != nil {
			return fmt.Errorf("start rank %d: %w", i, err)
		}
	}
	return nil
}

func (c *crew) startRank(i int, door *os.File) error {
	stdin, spec, err := os.Pipe()
	if err != nil {
		return err
	}
	defer stdin.Close()
	log, err := regular.OpenFile(record.LogPath(c.dir, i), os.O_CREATE|os.O_WRONLY|os.O_APPEND, protocol.FileMode)
	if err != nil {
		return errors.Join(record.Explain(err), spec.Close())
	}
	defer log.Close()
	s := protocol.RankSpec{
		RunDir: c.dir, Rank: i, World: c.run.World(), LocalRank: i - c.first, LocalWorld: c.size(), Threads: c.threads,
		Rendezvous: c.meet.Rendezvous, Secret: c.meet.Secret, Address: c.o.Share.Address, Experiment: c.run.Experiment, Version: c.o.Version,
		HostName: cmp.Or(c.o.Share.Name, here().Host), Preflight: c.run.Preflight,
		SegmentFD: protocol.NoFD, BoardFD: protocol.NoFD, ListenerFD: protocol.NoFD, LauncherFD: protocol.NoFD,
	}
	files := []*os.File{stdin, log, log}
	give := func(f *os.File, fd *int) {
		if f != nil {
			*fd = len(files)
			files = append(files, f)
		}
	}
	give(c.board.File(), &s.BoardFD)
	give(c.segment, &s.SegmentFD)
	if i == 0 {
		give(door, &s.ListenerFD)
	}
	if c.o.Foreground && c.o.Lifeline == nil {
		give(os.Stdin, &s.LauncherFD)
	}
	argv := []string{c.o.Binary, "rank", "--run", c.dir, "--rank", strconv.Itoa(i)}
	b := bindingOf(c.run.Experiment, os.Getenv)
	attr := &os.ProcAttr{Dir: "/", Env: b.environ(environment(os.Environ(), c.threads), i-c.first, c.size()), Files: files}
	proc, err := b.start(i-c.first, c.size(), func() (*os.Process, error) { return os.StartProcess(c.o.Binary, argv, attr) })
	if err != nil {
		return errors.Join(err, spec.Close())
	}
	c.ranks = append(c.ranks, &rank{index: i, proc: proc, spec: spec, card: b.card(i-c.first, c.size())})
	if err := spec.SetWriteDeadline(time.Now().Add(specPatience)); err != nil {
		return err
	}
	if err := protocol.WriteSpec(spec, s); err != nil && !errors.Is(err, syscall.EPIPE) {
		return err // a rank that is dead already says so by its exit
	}
	return nil
}

// wait reports the end of a rank.
func (c *crew) wait(r *rank) {
	defer c.wg.Done()
	st, err := r.proc.Wait()
	e := rankExit{rank: r, err: err, at: wallNow()}
	if err == nil {
		e.wait, _ = st.Sys().(syscall.WaitStatus)
	}
	c.exits <- e
}

// signal sends a signal to every rank that still runs.
func (c *crew) signal(sig syscall.Signal) {
	for _, r := range c.ranks {
		if err := r.proc.Signal(sig); err == nil {
			r.told = sig
		}
	}
}

// wake lets ranks that are stopped hear what they were told.
func (c *crew) wake() {
	for _, r := range c.ranks {
		_ = r.proc.Signal(syscall.SIGCONT) // one that has ended needs no waking
	}
}

// members are the ranks' processes.
func (c *crew) members() []sample.Rank {
	m := make([]sample.Rank, len(c.ranks))
	for i, r := range c.ranks {
		m[i] = sample.Rank{Rank: r.index, PID: r.proc.Pid, Card: r.card}
	}
	return m
}

// closeShared closes what the ranks have and the agent does not need: when rank 0 dies, its socket refuses.
func (c *crew) closeShared() error {
	var err error
	if c.door != nil {
		err = c.door.Close()
	}
	if c.segment != nil {
		err = errors.Join(err, c.segment.Close())
		c.segment = nil
	}
	if err != nil {
		return fmt.Errorf("hand the ranks what they share: %w", err)
	}
	return nil
}

// close waits for the ranks, which must have ended or been killed, and frees everything.
func (c *crew) close() {
	c.wg.Wait()
	c.closeFiles()
}

// closeFiles drops descriptors; nothing was written through them that closing could lose.
func (c *crew) closeFiles() {
	for _, r := range c.ranks {
		r.spec.Close()
	}
	if c.segment != nil {
		c.segment.Close()
	}
	if c.door != nil {
		c.door.Close()
	}
	c.board.Close()
}
