package runner

import (
	"context"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/profiler/sample"
)

// cardsPatience is how long the agent waits for a driver before it looks after its ranks; the cards are sampled as soon as they are
// there.
const cardsPatience = 2 * time.Second

// opened is what came of opening the cards.
type opened struct {
	cards sample.GPUs
	err   error
}

// cardsWait is the opening of the cards, in a goroutine of its own: a driver may wake cards for seconds, or hang.
type cardsWait struct {
	got    <-chan opened // nil: nothing is waited for
	cancel context.CancelFunc
}

// measure begins to measure. A run that cannot be measured goes on.
func (a *agent) measure() {
	var first opened
	if a.o.GPUs != nil {
		ctx, cancel := context.WithCancel(context.Background())
		got := make(chan opened, 1)
		go func() {
			cards, err := a.o.GPUs(ctx)
			got <- opened{cards, err}
		}()
		a.cards = cardsWait{got, cancel}
		select {
		case first = <-got:
			a.cards.over()
			a.noteCards(first.err)
		case <-time.After(cardsPatience):
		}
	}
	if first.err != nil {
		first.cards = nil
	}
	var err error
	if a.meter, err = startMeter(a.dir, a.hostName(), a.crew.members(), a.rolled(), first.cards); err != nil {
		a.diskTrouble(err)
		a.note(record.EventAlert, "measuring", err.Error(), nil)
	}
}

func (w *cardsWait) over() {
	w.cancel()
	*w = cardsWait{}
}

func (a *agent) noteCards(err error) {
	if err != nil {
		a.note(record.EventNote, "gpus", err.Error(), nil)
	}
}

// tookCards has the cards sampled that came late.
func (a *agent) tookCards(o opened) {
	a.cards.over()
	a.noteCards(o.err)
	switch {
	case o.err != nil || o.cards == nil:
	case a.meter == nil:
		_ = o.cards.Close() // nobody samples them
	default:
		a.meter.late <- o.cards
	}
}

// leaveCards waits for nobody any more.
func (a *agent) leaveCards() {
	if a.cards.got == nil {
		return
	}
	a.cards.cancel()
	select {
	case o := <-a.cards.got:
		if o.err == nil && o.cards != nil {
			_ = o.cards.Close()
		}
	case <-time.After(meterEvery): // a driver that hangs is left to its fate
	}
	a.cards.over()
}
