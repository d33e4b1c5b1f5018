package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// Share is the part of a run that an agent looks after, where its ranks are on several hosts. Host i of n has the
// ranks from i·world/n on. The agent of host 0 looks after the run as a whole; the others look after their ranks and
// leave behind how they ended. The zero value is all of a run.
type Share struct {
	Host, Hosts int
	Address     string // IP address at which ranks of other hosts reach this one's
	Name        string // what records call the host; empty: its own name
}

const (
	// meetPatience is how long agents wait until that of host 0 says where to meet.
	meetPatience = time.Minute
	// partPatience is how long after its own ranks the agent of host 0 waits for the others' accounts.
	partPatience = 8 * time.Second
)

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
	if net.ParseIP(s.Address) == nil {
		return fmt.Errorf("host %d is to be reached at %q, which is no IP address", s.Host, clean(s.Address, 80))
	}
	return nil
}

// args say the share to `boost-tui agent`.
func (s Share) args() []string {
	return []string{"--host", strconv.Itoa(s.Host), "--hosts", strconv.Itoa(s.Hosts), "--address", s.Address, "--host-name", s.Name}
}

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
	Rendezvous string `json:"rendezvous"`
	Secret     string `json:"secret"`
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
	if err := json.Unmarshal(data, &m); err != nil || m.Schema != Schema || m.Rendezvous == "" {
		return meeting{}, fmt.Errorf("%s is damaged or of another version", protocol.MeetFile)
	}
	return m, nil
}

// part is part-N.json: how the ranks of a host ended, or why they never began.
type part struct {
	Schema int        `json:"schema"`
	Cause  string     `json:"cause,omitempty"` // why none of them was started
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

// assist is the life of an agent on a host that is not the first.
func (a *agent) assist(ctx context.Context) error {
	ctx, stop := notify(ctx)
	defer stop()
	life, hangUp, err := listen(a.o.Foreground, a.o.Lifeline)
	if err != nil {
		return a.leavePart(err)
	}
	defer hangUp()
	if a.meet, err = a.awaitMeeting(ctx, life); err != nil {
		return a.leavePart(err)
	}
	if err := a.start(); err != nil {
		return a.leavePart(err)
	}
	a.loop(ctx, life)
	if a.meter != nil {
		a.diskTrouble(a.meter.stop())
	}
	a.crew.close()
	return a.leavePart(nil)
}

// awaitMeeting waits for the agent of host 0.
func (a *agent) awaitMeeting(ctx context.Context, life <-chan string) (meeting, error) {
	tick := time.NewTicker(watchEvery / 4)
	defer tick.Stop()
	late := time.After(meetPatience)
	for {
		m, err := readMeeting(a.dir)
		if !errors.Is(err, fs.ErrNotExist) {
			return m, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return m, errors.New(a.signalReason())
		case reason, ok := <-life:
			if ok {
				return m, errors.New(reason)
			}
			life = nil
		case <-late:
			return m, fmt.Errorf("the agent of the first host has not said within %v where the ranks meet", meetPatience)
		}
	}
}

// leavePart writes down how the ranks of this host ended.
func (a *agent) leavePart(cause error) error {
	p := part{Schema: Schema, Ranks: slices.Clone(a.results)}
	if cause != nil {
		p.Cause = clean(cause.Error(), maxLineRunes)
	}
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	err = record.Explain(protocol.WriteNew(protocol.PartPath(a.dir, a.o.Share.Host), append(data, '\n')))
	return errors.Join(cause, a.saveAll(), err)
}

// firstGone is why ranks end that the agent of host 0 has left alone.
const firstGone = "the agent of the run's first host has ended"

// lookAtOthers ends the run when another host could not begin or a rank there has failed, and the ranks of this host when
// the agent of host 0 has ended. Ranks that can talk to each other know already.
func (a *agent) lookAtOthers() {
	if !a.o.Share.several() {
		return
	}
	if !a.o.Share.leads() {
		_, err := readMeeting(a.dir)
		if errors.Is(err, fs.ErrNotExist) || readInfo(a.dir, here(), time.Now()).State.Over() {
			a.cancel(firstGone)
		}
		return
	}
	for host := 1; host < a.o.Share.Hosts; host++ {
		if p, err := readPart(a.dir, host); err == nil && p.Cause != "" {
			a.fail(fmt.Sprintf("host %d: %s", host, p.Cause))
		}
	}
	exits, _ := readExits(a.dir) // one that cannot be read yet can be at the next look
	for _, e := range exits {
		if (e.Rank < a.crew.first || e.Rank >= a.crew.end) && !e.OK() {
			a.fail("")
		}
	}
}

// gather adds the accounts of the other hosts to this one's. Where the run ends before its time, they are told to end
// their ranks by the end of the meeting.
func (a *agent) gather() error {
	if !a.o.Share.several() {
		return nil
	}
	if a.ending.state != "" {
		if err := forgetMeeting(a.dir); err != nil {
			return err
		}
	}
	deadline := time.Now().Add(partPatience)
	for host := 1; host < a.o.Share.Hosts; host++ {
		p, err := readPart(a.dir, host)
		for errors.Is(err, fs.ErrNotExist) && time.Now().Before(deadline) {
			time.Sleep(watchEvery / 4)
			p, err = readPart(a.dir, host)
		}
		if err != nil {
			share := Share{Host: host, Hosts: a.o.Share.Hosts}
			first, _ := share.ranks(a.run.World())
			a.ended = append(a.ended, protocol.ExitRecord{Rank: first, Code: -1, TSNanos: time.Now().UnixNano(),
				Cause: fmt.Sprintf("the agent of its host (number %d of %d) ended without a word: %v", host+1, a.o.Share.Hosts, err)})
			continue
		}
		first, end := Share{Host: host, Hosts: a.o.Share.Hosts}.ranks(a.run.World())
		for _, r := range p.Ranks {
			if r.Rank >= first && r.Rank < end {
				a.add(r)
			}
		}
	}
	return forgetMeeting(a.dir)
}

// add takes note of the end of a rank on another host.
func (a *agent) add(r RankExit) {
	a.results = append(a.results, r)
	if r.Code == 0 && r.Signal == "" || r.Code == protocol.CodeCancelled && a.ending.state == Cancelled {
		return
	}
	rec, err := protocol.ReadExit(a.dir, r.Rank)
	if err != nil {
		rec = protocol.ExitRecord{Rank: r.Rank, Secondary: true}
	}
	rec.Code, rec.Signal = r.Code, cmp.Or(r.Signal, rec.Signal)
	a.ended = append(a.ended, rec)
}

// hostName is what records call this host.
func (a *agent) hostName() string { return cmp.Or(a.o.Share.Name, here().Host) }

// forgetMeeting removes the secret that agents shared.
func forgetMeeting(dir string) error {
	err := os.Remove(filepath.Join(dir, protocol.MeetFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
