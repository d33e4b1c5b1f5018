package runner

import (
	"cmp"
	"fmt"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner/control"
	"boost-tui/runner/protocol"
)

// heardOf takes note of what happened on another host.
func (a *agent) heardOf(e control.Event) {
	h := &a.others.hosts[e.Host]
	switch e.What {
	case control.Said:
		if err := a.told(e.Host, h, e.Message); err != nil {
			a.note(record.EventNote, "agents", clean(err.Error(), maxLineRunes), nil)
		}
	case control.Left:
		if h.part == nil {
			h.part = &part{Cause: "its agent left without an account of its ranks"}
			a.fail(fmt.Sprintf("host %s: %s", a.others.called(e.Host), h.part.Cause))
		}
	case control.Lost:
		h.lost = e.Why
		a.others.lost = append(a.others.lost, e.Host)
		cause := "host " + a.others.called(e.Host) + hostLost + e.Why
		a.note(record.EventAlert, "host_lost", cause, nil)
		a.fail(cause)
	case control.Stopped:
		a.fence(fmt.Sprintf("host %s, which leads the run, stood still for %v", a.hostName(), e.For.Round(time.Second)))
	}
}

// told takes in what another agent says.
func (a *agent) told(host int, h *other, m control.Message) error {
	share := a.o.Share.of(host)
	switch m.Kind {
	case wordHello:
		g, err := parse(m, greeting.check)
		if err != nil {
			return err
		}
		if h.Address == "" {
			a.others.named++
		}
		h.greeting = greeting{clean(g.Name, 64), g.Address}
		return a.writeHosts()
	case wordExit:
		rec, err := parse(m, share.checkExit(a.run.World()))
		if err != nil {
			return err
		}
		if _, known := h.exits[rec.Rank]; known {
			return nil // said again after a break
		}
		if h.exits == nil {
			h.exits = map[int]protocol.ExitRecord{}
		}
		h.exits[rec.Rank] = rec
		a.note(record.EventAlert, "rank_ended", describe(rec), &rec.Rank)
		a.fail("")
	case wordPart:
		p, err := parse(m, share.checkPart(a.run.World()))
		if err != nil {
			return err
		}
		h.part = &p
		if p.Cause != "" {
			a.fail(fmt.Sprintf("host %s: %s", a.others.called(host), clean(p.Cause, maxLineRunes)))
		} else if said := a.saidFenced(host); said != "" {
			a.fail(said)
		}
	case wordAsk:
		w, err := parse(m, func(ask) error { return nil })
		if err != nil {
			return err
		}
		a.cancel(cmp.Or(clean(w.Reason, 200), agentTold))
	case wordBoard:
		board, err := parse(m, checkBoard)
		if err != nil {
			return err
		}
		h.board, h.at = board, time.Now()
	}
	return nil
}

// lookAtOthers tells the agent of the first host where the ranks are; on the first host, it ends the wait for accounts that do not
// come, and the ranks when the other hosts have written this one off.
func (a *agent) lookAtOthers() {
	a.showBoard()
	o := a.others
	if o == nil {
		return
	}
	if a.fenced == "" && time.Since(o.looked) >= dogEvery {
		if o.looked = time.Now(); resultThere(a.dir) {
			a.fence("the other hosts took this one for lost and wrote how the run ended")
		}
		a.lookForStillborn()
	}
	if time.Since(o.written) > hostsEvery && o.worst() < o.error/2 {
		a.diskTrouble(a.writeHosts())
	}
	if a.left > 0 || a.ending.state == "" || !o.open() {
		o.limit = time.Time{}
		return
	}
	now := time.Now()
	if o.limit.IsZero() {
		o.limit = now.Add(partPatience)
	}
	waits := now.Before(o.limit) || len(o.server.Silent(suspicion)) > 0 || saving(a.dir) && now.Before(a.ending.until)
	if waits && a.fenced == "" {
		return
	}
	for host := range o.hosts {
		if h := &o.hosts[host]; host > 0 && h.part == nil && h.lost == "" {
			h.lost = fmt.Sprintf("its agent has not said within %v how its ranks ended", partPatience)
		}
	}
}

// lookForStillborn ends the run when whoever starts agents has left word of a host that one could not begin on.
func (a *agent) lookForStillborn() {
	for host := range a.others.hosts {
		h := &a.others.hosts[host]
		if host == 0 || h.Address != "" || h.part != nil || h.lost != "" {
			continue
		}
		if p, err := readPart(a.dir, host); err == nil && p.Cause != "" && len(p.Ranks) == 0 {
			h.part = &p
			a.fail(fmt.Sprintf("host %s: %s", a.others.called(host), clean(p.Cause, maxLineRunes)))
		}
	}
}
