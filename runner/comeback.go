package runner

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// restartPatience is how long a run that may be restarted without a job's coming back is given to have a successor: whoever stands
// over it creates that at once.
const restartPatience = 3 * time.Second

// ComesBack says in words what a run that is over waits for where its job goes on with it as another one; empty: it does not. Only
// of a run that may be restarted a scheduler is asked.
func (in *Info) ComesBack(now time.Time) string {
	j, back := comingBack(*in)
	if !back {
		return ""
	}
	text := fmt.Sprintf("waits to go on as restart %d of %d: Slurm job %s ", in.Run.restartNumber()+1, in.Run.Experiment.Where.MaxRestarts, j.ID)
	if !j.Waits() {
		return clean(text+"is "+strings.ToLower(string(j.State)), maxLineRunes)
	}
	words, _, _ := strings.Cut(strings.TrimPrefix(j.Waiting(now), "Slurm job "+j.ID+" "), "; may start")
	text += words
	if j.Start.After(now) {
		text += " (not before " + j.Start.Local().Format("Mon 15:04") + ")"
	}
	return clean(text, maxLineRunes)
}

// JobAtAnyTime is Job, and of a run that is over the number of its job, which accounting goes by; nil: it was none.
func (in *Info) JobAtAnyTime(now time.Time) *JobView {
	if v := in.Job(now); v != nil {
		return v
	}
	f, err := readJob(in.Dir)
	if err != nil {
		return nil
	}
	return &JobView{ID: f.ID, Cluster: f.Cluster}
}

// HostNames are the hosts of a run, as far as they are known: those that it was given, those that a scheduler picked, or that of its
// only agent. It is never nil.
func (in *Info) HostNames() []string {
	names := in.Run.Hosts
	if len(names) == 0 {
		names = pickedHosts(in.Dir)
	}
	if len(names) == 0 {
		if agent, err := readAgent(in.Dir); err == nil && agent.Host != "" && in.HadRanks() { // one that only settled the run had none
			names = []string{clean(agent.Host, 64)}
		}
	}
	return append([]string{}, names...)
}

// Next waits, for as long as a run that is over may still be restarted, for the run that it goes on as; false: there is none. What
// it waits for meanwhile is told, once.
func Next(ctx context.Context, in Info, tell func(string)) (Info, bool, error) {
	tick := time.NewTicker(stateEvery)
	defer tick.Stop()
	for limit := time.Now().Add(restartPatience); ; in = readInfo(in.Dir, here(), time.Now()) {
		if next, ok := successor(in); ok {
			return next, true, nil
		}
		if !mayRestartYet(in) || !comesBack(in) && time.Now().After(limit) {
			return in, false, nil
		}
		if why := in.ComesBack(time.Now()); why != "" && tell != nil {
			tell(why)
			tell = nil
		}
		select {
		case <-ctx.Done():
			return in, false, fmt.Errorf("wait for the restart of run %s: %w", in.ID, ctx.Err())
		case <-tick.C:
		}
	}
}

// mayRestartYet reports whether a run that is over is of the kind that is started again, and nobody asked for its end.
func mayRestartYet(in Info) bool {
	_, asked := cancelRequest(in.Dir)
	return in.Err == nil && (comesBack(in) || in.Result != nil && mayRestart(in) && !asked)
}

// chainNotAlive refuses a run that another one goes on from in the same job: the job is called after the first of them, and without
// that nobody would know it for the run's.
func (in *Info) chainNotAlive() error {
	last := Last(*in)
	was, err := readJob(in.Dir)
	if err != nil || last.ID == in.ID {
		return nil
	}
	if f, own := ownJob(last.Dir); !own || f.Ref != was.Ref || last.State.Over() && !comesBack(last) {
		return nil
	}
	return fmt.Errorf("run %s goes on from it in the same Slurm job: `boost-tui cancel %s` first", last.ID, last.ID)
}
