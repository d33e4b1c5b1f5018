package runner

import (
	"context"
	"os"
	"strings"
	"sync"
	"time"

	"boost-tui/runner/slurm"
)

const (
	// toldPatience is how long Slurm, which ends a job, is asked why: the time until it kills is short (KillWait, GraceTime).
	toldPatience = 4 * time.Second
	// toldLeast is what is left of that at least when the ranks have ended.
	toldLeast = 2 * time.Second
	// toldEvery is how long nobody asks after a question that failed: a controller that ends jobs is busy.
	toldEvery = 100 * time.Millisecond
)

// inquiry asks Slurm why it ends the job that this process is in. It begins as soon as a signal comes, beside the end of the ranks.
type inquiry struct {
	asked  time.Time
	cancel context.CancelFunc
	wg     sync.WaitGroup
	answer chan slurm.Job // has room for the one answer
}

// inquire begins to ask; nil: this process is in no job.
func inquire() *inquiry {
	a, inside := slurm.Inside(os.Getenv)
	if !inside {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	q := &inquiry{asked: time.Now(), cancel: cancel, answer: make(chan slurm.Job, 1)}
	q.wg.Go(func() {
		c := &slurm.Client{}
		for ctx.Err() == nil {
			if j, err := c.Past(ctx, a.Job); err == nil {
				q.answer <- j.Ended(a.Restarts)
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(toldEvery):
			}
		}
	})
	return q
}

// end gives up asking.
func (q *inquiry) end() {
	if q != nil {
		q.cancel()
		q.wg.Wait()
	}
}

// says is the job as it will be once it has ended; false: it does not end, or Slurm did not answer in time.
func (q *inquiry) says() (slurm.Job, bool) {
	if q == nil {
		return slurm.Job{}, false
	}
	defer q.end()
	select {
	case j := <-q.answer:
		return j, !j.Vanished && (j.Over() || j.State == slurm.Requeued)
	case <-time.After(max(toldLeast, time.Until(q.asked.Add(toldPatience)))):
		return slurm.Job{}, false
	}
}

// whoTold is how a run ended, made more exact where it is only known that a signal came: Slurm may know who sent it, and why.
func (a *agent) whoTold(state State, cause string) (State, string) {
	if cause != agentTold {
		a.why.end()
		return state, cause
	}
	if a.why == nil { // it came before there were ranks
		a.why = inquire()
	}
	j, ok := a.why.says()
	if !ok {
		return state, cause
	}
	if j.State == slurm.NodeFail || j.State == slurm.Failed { // nobody wanted the run to end
		state = Failed
	}
	if j.State != slurm.NodeFail || a.o.Share.Names == "" {
		return state, jobSays(j)
	}
	ctx, cancel := context.WithTimeout(context.Background(), toldLeast)
	defer cancel()
	if down, err := new(slurm.Client).Down(ctx, strings.Split(a.o.Share.Names, ",")); err == nil && len(down) > 0 { // else it is told without the name
		return state, clean(jobOver+j.ID+" lost "+strings.Join(down, ", ")+": Slurm does not reach it any more", maxLineRunes)
	}
	return state, jobSays(j)
}
