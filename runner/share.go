package runner

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// Share is the part of a run that an agent looks after, where its ranks are on several hosts. Host i of n has the
// ranks from i·world/n on. The agent of host 0 looks after the run as a whole; the others look after their ranks and
// leave behind how they ended. The zero value is all of a run.
type Share struct {
	Host, Hosts int
	Address     string // IP address at which ranks of other hosts reach this one's; empty: it is found out
	Name        string // what records call the host; empty: its own name
	// Peer is a name or an address of another host of the run, by which the first one finds out which of its own addresses lead
	// there; empty: it has to do without.
	Peer string
	// Names are what records call all hosts, in order and separated by commas, where they are known to who starts the agents and
	// not from the run; empty: they are not.
	Names string
}

func (s Share) several() bool { return s.Hosts > 1 }

// leads reports whether the agent looks after the run as a whole.
func (s Share) leads() bool { return s.Host == 0 }

func (s Share) check(world int) error {
	if !s.several() {
		return nil
	}
	if s.Host < 0 || s.Host >= s.Hosts || s.Hosts > world {
		return fmt.Errorf("host %d of %d, of a run of %d ranks", s.Host, s.Hosts, world)
	}
	if s.Address != "" && net.ParseIP(s.Address) == nil {
		return fmt.Errorf("host %d is to be reached at %q, which is no IP address", s.Host, clean(s.Address, 80))
	}
	return nil
}

// args say the share to `boost-tui agent`.
func (s Share) args() []string {
	args := []string{"--host", strconv.Itoa(s.Host), "--hosts", strconv.Itoa(s.Hosts), "--address", s.Address, "--host-name", s.Name}
	if s.Peer != "" {
		args = append(args, "--peer", s.Peer)
	}
	return args
}

// of is the share of another host.
func (s Share) of(host int) Share { return Share{Host: host, Hosts: s.Hosts} }

// ranks are the first rank of the share and the one behind its last.
func (s Share) ranks(world int) (first, end int) {
	if !s.several() {
		return 0, world
	}
	return s.Host * world / s.Hosts, (s.Host + 1) * world / s.Hosts
}

// meeting is meet.json: what the agent of host 0 tells the others. It holds the run's secret and goes with the run's end.
type meeting struct {
	Schema     int    `json:"schema"`
	Rendezvous string `json:"rendezvous"` // of the ranks
	Control    string `json:"control"`    // of the agents
	Secret     string `json:"secret"`
	// Incarnation tells the agents of one start of the run from those of another.
	Incarnation string `json:"incarnation"`
}

func writeMeeting(dir string, m meeting) error {
	m.Schema = Schema
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return record.Explain(protocol.WriteNew(filepath.Join(dir, protocol.MeetFile), append(data, '\n')))
}

// readMeeting is fs.ErrNotExist as long as there is none.
func readMeeting(dir string) (m meeting, err error) {
	data, err := protocol.ReadFile(filepath.Join(dir, protocol.MeetFile), maxFileBytes)
	if err != nil {
		return m, err
	}
	return parseMeeting(data)
}

func parseMeeting(data []byte) (m meeting, err error) {
	if err := json.Unmarshal(data, &m); err != nil || m.Schema != Schema || m.Rendezvous == "" || m.Control == "" {
		return meeting{}, fmt.Errorf("%s is damaged or of another version", protocol.MeetFile)
	}
	return m, nil
}

// part is part-N.json: how the ranks of a host ended, or why they never began.
type part struct {
	Schema int        `json:"schema"`
	Cause  string     `json:"cause,omitempty"`  // why none of them was started
	Fenced string     `json:"fenced,omitempty"` // why their agent ended them without being told to
	Ranks  []RankExit `json:"ranks"`
}

// readPart is fs.ErrNotExist as long as there is none.
func readPart(dir string, host int) (p part, err error) {
	data, err := protocol.ReadFile(protocol.PartPath(dir, host), maxFileBytes)
	if err != nil {
		return p, err
	}
	if p, err = parsePart(data); err != nil {
		return p, fmt.Errorf("account of host %d: %w", host, err)
	}
	return p, nil
}

func parsePart(data []byte) (p part, err error) {
	if err := json.Unmarshal(data, &p); err != nil || p.Schema != Schema {
		return part{}, errors.New("damaged or of another version")
	}
	for _, r := range p.Ranks {
		if r.Rank < 0 || r.Rank >= protocol.MaxRanks {
			return part{}, fmt.Errorf("damaged: it speaks of rank %d", r.Rank)
		}
	}
	return p, nil
}

// hostName is what records call this host.
func (a *agent) hostName() string { return cmp.Or(a.o.Share.Name, here().Host) }

// here is an error about this host with its name: whoever reads it has several.
func (a *agent) here(err error) error { return fmt.Errorf("host %s: %w", clean(a.hostName(), 64), err) }

// forgetMeeting removes the secret that agents shared.
func forgetMeeting(dir string) error {
	err := os.Remove(filepath.Join(dir, protocol.MeetFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
