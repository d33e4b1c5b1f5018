package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner/control"
	"boost-tui/runner/protocol"
)

// assist is the life of an agent on a host that is not the first.
func (a *agent) assist(ctx context.Context) error {
	ctx, stop := notify(ctx)
	defer stop()
	life, hangUp, err := listen(a.o.Foreground, a.o.Lifeline, a.hostName())
	if err != nil {
		return a.leavePart(err)
	}
	defer hangUp()
	if err := a.meetOthers(ctx, life); err != nil {
		return a.leavePart(err)
	}
	defer a.leader.Close()
	if err := a.start(); err != nil {
		return a.leavePart(err)
	}
	a.loop(ctx, life)
	a.leaveCards()
	if a.meter != nil {
		a.diskTrouble(a.meter.stop())
	}
	a.crew.close()
	err = a.leavePart(nil)
	a.linger(ctx)
	if a.lostLeader != "" {
		err = errors.Join(err, a.succeed())
	}
	return err
}

// linger waits until the agent of host 0 has written how the run ended, or is lost and cannot.
func (a *agent) linger(ctx context.Context) {
	tick := time.NewTicker(dogEvery)
	defer tick.Stop()
	for a.fenced == "" && ctx.Err() == nil && !a.gone {
		select {
		case e := <-a.leader.Events():
			a.heardLeader(e)
		case <-ctx.Done():
		case <-tick.C:
			if a.gone = a.removed(); resultThere(a.dir) {
				return
			}
		}
	}
}

// meetOthers waits until the agent of host 0 says where to meet, and connects to it.
func (a *agent) meetOthers(ctx context.Context, life <-chan string) error {
	var err error
	if a.meet, err = a.awaitMeeting(ctx, life); err != nil {
		return err
	}
	if a.o.Share.Address == "" {
		if a.o.Share.Address, err = ownAddress(a.run.Experiment.Where.Interface, a.meet.Control); err != nil {
			return a.here(err)
		}
	}
	limit, cancel := context.WithTimeout(ctx, meetPatience)
	defer cancel()
	if a.leader, err = control.Dial(limit, a.meet.Control, a.channel()); err != nil {
		return fmt.Errorf("host %s: %w; is %s the network that leads to the first host? --interface chooses another", a.hostName(), err, a.o.Share.Address)
	}
	a.leader.Send(say(wordHello, greeting{a.hostName(), a.o.Share.Address}))
	return nil
}

// awaitMeeting waits for the agent of host 0. A run that waits for another one may take its time.
func (a *agent) awaitMeeting(ctx context.Context, life <-chan string) (meeting, error) {
	tick := time.NewTicker(watchEvery / 4)
	defer tick.Stop()
	late := time.Now().Add(meetPatience)
	for {
		m, err := readMeeting(a.dir)
		if !errors.Is(err, fs.ErrNotExist) {
			return m, err
		}
		if waiting(a.dir) {
			late = time.Now().Add(meetPatience)
		}
		if time.Now().After(late) {
			return m, fmt.Errorf("the agent of the first host has not said within %v where the ranks meet", meetPatience)
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
		}
		if reason, ok := cancelRequest(a.dir); ok {
			return m, errors.New(reason)
		}
		if resultThere(a.dir) {
			return m, errors.New("the run is over")
		}
	}
}

// heardLeader takes note of what the agent of host 0 says, and of its silence.
func (a *agent) heardLeader(e control.Event) {
	switch e.What {
	case control.Said:
		o, err := parse(e.Message, order.check)
		if e.Message.Kind != wordEnd || err != nil {
			return
		}
		a.ordered = true
		if o.State == Cancelled {
			a.cancel(cmp.Or(clean(o.Cause, 200), agentTold))
			return
		}
		a.fail(cmp.Or(clean(o.Cause, maxLineRunes), firstEnded))
	case control.Left:
		a.fence(firstEnded)
	case control.Lost:
		a.lostLeader = e.Why
		a.fence(firstHost + hostLost + e.Why)
	case control.Stopped:
		a.lostLeader = ""
		a.fence(fmt.Sprintf("it stood still for %v, longer than the others wait", e.For.Round(time.Second)))
	}
}

// firstEnded is why ranks end that the agent of host 0 has left alone.
const firstEnded = "the agent of the run's first host has ended"

// fence ends the ranks of this host, whatever the others do: nobody who knows more can be heard.
func (a *agent) fence(why string) {
	if a.fenced != "" {
		return
	}
	a.fenced = why
	a.note(record.EventAlert, "fenced", why, nil)
	if a.ending.state == "" {
		a.ending = ending{state: Failed, cause: why}
	}
	a.ending.term, a.ending.until = time.After(0), time.Time{}
	a.ending.kill = time.After(killAfter)
}

// tellLeader hands on how a rank ended.
func (a *agent) tellLeader(rec protocol.ExitRecord) {
	if a.leader != nil {
		a.leader.Send(say(wordExit, rec))
	}
}

// askLeader wants the whole run to end. What the one that leads decides comes back; where it has gone, the silence does.
func (a *agent) askLeader(reason string) {
	if a.leader != nil && !a.ordered {
		a.leader.Send(say(wordAsk, ask{reason}))
	}
}

// showBoard tells the agent of host 0 where the ranks of this one are.
func (a *agent) showBoard() {
	if a.leader != nil && time.Since(a.shown) >= dogEvery {
		a.shown = time.Now()
		a.leader.Mention(say(wordBoard, a.crew.standings()))
	}
}

// leavePart writes down how the ranks of this host ended, and tells the agent of host 0.
func (a *agent) leavePart(cause error) error {
	p := part{Schema: Schema, Fenced: a.fenced, Ranks: slices.Clone(a.results)}
	if cause != nil {
		p.Cause = clean(cause.Error(), maxLineRunes)
	}
	if a.leader != nil {
		a.leader.Send(say(wordPart, p))
	}
	if a.gone {
		return cause
	}
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	err = record.Explain(protocol.WriteNew(protocol.PartPath(a.dir, a.o.Share.Host), append(data, '\n')))
	return errors.Join(cause, a.saveAll(), err)
}

// leaderSays is nil where no other agent leads.
func (a *agent) leaderSays() <-chan control.Event {
	if a.leader == nil {
		return nil
	}
	return a.leader.Events()
}
