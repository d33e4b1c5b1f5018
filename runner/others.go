package runner

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"boost-tui/internal/wallclock"
	"boost-tui/runner/control"
	"boost-tui/runner/protocol"
)

const (
	// meetPatience is how long agents wait for each other at the start.
	meetPatience = time.Minute
	// partPatience is how long after a run was ended, and its last rank here, the agent of host 0 waits for the others' accounts.
	partPatience = 8 * time.Second
	// suspicion is the silence from which on a host may be the reason of whatever fails meanwhile.
	suspicion = 2500 * time.Millisecond
	// hostsEvery is how often hosts.json is written anew at most, while the clocks become known better.
	hostsEvery = 5 * time.Second
	// hostLost stands in the cause of a run that lost a host.
	hostLost = " was lost: "
	// firstHost is what the agents of other hosts call the one that leads.
	firstHost = "the first host"
)

// others is what the agent of host 0 knows about the other hosts.
type others struct {
	server *control.Server
	hosts  []other // by number; the first is this one and stays empty
	// suspects are those that were silent when the first thing failed.
	suspects []int
	lost     []int  // in the order noticed
	alone    string // why it is this host that is lost; empty: it is not
	named    int    // hosts that have said who they are
	limit    time.Time
	looked   time.Time
	written  time.Time     // hosts.json, most recently
	error    time.Duration // of the offset known worst in it
}

// other is another host.
type other struct {
	greeting
	part  *part // nil: its ranks run
	exits map[int]protocol.ExitRecord
	lost  string // why; empty: it is not
	// elsewhere says that it is lost, and its agent has written its account to the file system all the same.
	elsewhere bool
	known     bool // whoever started its agent has said how that ended
	board     []standing
	at        time.Time // of the board, by this host's monotonic clock
}

// called is what records call a host.
func (o *others) called(host int) string {
	return cmp.Or(clean(o.hosts[host].Name, 64), fmt.Sprintf("number %d of %d", host+1, len(o.hosts)))
}

// open reports whether a host still owes its account.
func (o *others) open() bool {
	if o == nil {
		return false
	}
	for host := range o.hosts {
		if h := &o.hosts[host]; host > 0 && h.part == nil && h.lost == "" {
			return true
		}
	}
	return false
}

// worst is the error of the clock's offset that is known worst.
func (o *others) worst() (worst time.Duration) {
	for host := 1; host < len(o.hosts); host++ {
		if ahead := o.server.Offset(host); ahead.Known {
			worst = max(worst, ahead.Error)
		} else {
			worst = time.Hour
		}
	}
	return worst
}

// events is nil where there is nobody to hear of.
func (o *others) events() <-chan control.Event {
	if o == nil {
		return nil
	}
	return o.server.Events()
}

// lead opens the channel to the agents of other hosts, where there are some, and starts.
func (a *agent) lead() error {
	if !a.o.Share.several() {
		return a.start()
	}
	if a.o.Share.Address == "" {
		var err error
		if a.o.Share.Address, err = leadersAddress(a.run.Experiment.Where.Interface, a.o.Share.Peer); err != nil {
			return a.here(err)
		}
	}
	if err := a.gatherOthers(); err != nil {
		return err
	}
	err := a.start()
	if err != nil {
		a.others.server.Tell(say(wordEnd, order{Failed, clean(err.Error(), maxLineRunes)}))
		err = errors.Join(err, a.others.server.Close())
	}
	return err
}

// gatherOthers opens the channel to the agents of the other hosts. They learn of it by meet.json, once the ranks have a place to meet.
func (a *agent) gatherOthers() error {
	s := a.o.Share
	var secret [32]byte
	var incarnation [8]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return fmt.Errorf("secret of the run: %w", err)
	}
	if _, err := rand.Read(incarnation[:]); err != nil {
		return fmt.Errorf("secret of the run: %w", err)
	}
	a.meet = meeting{Secret: hex.EncodeToString(secret[:]), Incarnation: hex.EncodeToString(incarnation[:])}
	ln, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.ParseIP(s.Address)})
	if err != nil {
		return fmt.Errorf("socket that the agents meet at: %w", err)
	}
	a.meet.Control = ln.Addr().String()
	server, err := control.Serve(ln, a.channel())
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	a.others = &others{server: server, hosts: make([]other, s.Hosts)}
	names := a.run.Hosts
	if len(names) == 0 && s.Names != "" {
		names = strings.Split(s.Names, ",")
	}
	for host := range a.others.hosts {
		if host < len(names) {
			a.others.hosts[host].Name = names[host] // until it says so itself
		}
	}
	a.others.hosts[0].greeting = greeting{Name: a.hostName(), Address: s.Address}
	return nil
}

// channel is what both ends of the agents' channel agree on.
func (a *agent) channel() control.Options {
	s := a.o.Share
	return control.Options{Secret: a.meet.Secret, Version: a.o.Version, Incarnation: a.meet.Incarnation, Host: s.Host, Hosts: s.Hosts,
		Silence: a.silence(), Join: meetPatience, Local: s.Address, Now: wallclock.Now,
		Say: func(format string, args ...any) { fmt.Fprintf(os.Stderr, "agent: "+format+"\n", args...) }} // into the agent's log
}

// silence is how long a host may say nothing before it is lost.
func (a *agent) silence() time.Duration {
	return time.Duration(max(a.run.Experiment.Where.HeartbeatTimeout, leastSilence)) * time.Second
}

// leastSilence keeps a damaged run.json from making hosts lose each other at once; in seconds.
const leastSilence = 3

// suspect notes which hosts are silent when the first thing fails: what fails may be their fault.
func (a *agent) suspect() {
	if a.others != nil && a.others.suspects == nil {
		a.others.suspects = append([]int{}, a.others.server.Silent(suspicion)...)
	}
}

// resultThere reports whether somebody has written the result already.
func resultThere(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, protocol.ResultFile))
	return !errors.Is(err, fs.ErrNotExist) && err == nil
}
