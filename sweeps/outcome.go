package sweeps

import (
	"slices"
	"time"

	"boost-tui/runner"
	"boost-tui/runner/protocol"
)

// held applies a line of the program that looks after the sweep.
func (r *replay) held(l *line) error {
	if !r.open || l.Epoch != r.epoch {
		return errBad
	}
	r.lastSign = max(r.lastSign, l.T)
	switch l.K {
	case kindRelease:
		r.close(l.T)
		return nil
	case kindStop:
		r.stopped, r.stopCause = true, text(l.Cause)
		return nil
	case kindNote:
		notes := append(slices.Clip(r.notes), Note{l.at(), text(l.Cause)})
		r.notes = notes[max(0, len(notes)-maxNotes):]
		return nil
	}
	i, ok := r.index[l.Point]
	if !ok {
		return errBad
	}
	if l.K == kindBegin {
		return r.begin(i, l)
	}
	return r.attempt(i, l)
}

func (r *replay) begin(i int, l *line) error {
	if p := r.points[i]; p.Status != Queued || l.Attempt != len(p.Attempts)+1 {
		return errBad
	}
	p := r.edit(i)
	r.news = 0
	p.Attempts = append(p.Attempts, Attempt{N: l.Attempt, Begun: l.at()})
	r.set(p, Running, "")
	return nil
}

// attempt applies a line about the attempt that goes on.
func (r *replay) attempt(i int, l *line) error {
	p := r.points[i]
	if p.Status != Running || l.Attempt != len(p.Attempts) {
		return errBad
	}
	if !r.fitsRun(p, l) || l.K == kindEnd && !runner.State(l.State).Over() {
		return errBad
	}
	p = r.edit(i)
	a := &p.Attempts[len(p.Attempts)-1]
	if a.Run == "" && l.Run != "" {
		a.Run = l.Run
		r.runs[l.Run] = struct{}{}
	}
	switch l.K {
	case kindAdopt:
		a.Adopted = true
	case kindEnd:
		r.end(i, p, a, l)
	}
	return nil
}

// fitsRun reports whether the run that the line names can be the one of the point's last attempt. An end need not name it.
func (r *replay) fitsRun(p *PointState, l *line) bool {
	run := p.Attempts[len(p.Attempts)-1].Run
	if l.Run == "" {
		return l.K == kindEnd
	}
	_, taken := r.runs[l.Run]
	return l.Run == run || run == "" && !taken && runner.CheckID(l.Run) == nil
}

// maxSeconds bounds what an attempt may have taken, so that sums stay sums.
const maxSeconds = 1e9

func (r *replay) end(i int, p *PointState, a *Attempt, l *line) {
	a.State, a.Cause, a.Machine, a.Again, a.Rule = text(l.State), text(l.Cause), l.Machine, l.Again, text(l.Rule)
	a.Seconds = min(max(l.Seconds, 0), maxSeconds)
	a.Ended = l.at()
	if l.Ended > 0 {
		a.Ended = time.Unix(0, l.Ended).UTC()
	}
	a.Ended = later(a.Begun, a.Ended)
	r.deviceHours += float64(min(p.Ranks, protocol.MaxRanks)) * a.Seconds / 3600
	r.set(p, r.verdict(i, a), a.Cause)
	switch {
	case p.Status == Finished:
		r.pace = append(r.pace, Pace{Point: p.ID, FLOPs: p.FLOPs, Ranks: p.Ranks, Seconds: a.Seconds})
		r.failures = 0
	case p.Status == Stopped:
		r.failures = 0
	case p.Status == Failed, p.Status == Queued && !a.Again:
		r.failures++
	}
	if p.Status == Queued {
		p.Cause = ""
	}
}

// verdict is what becomes of a point when its attempt ends.
func (r *replay) verdict(i int, a *Attempt) Status {
	switch state := runner.State(a.State); {
	case state == runner.Finished:
		return Finished
	case a.Again:
		return Queued
	case a.Rule != "":
		return Stopped
	case a.Machine:
		if r.faults[i]++; r.faults[i] <= r.options.Retries {
			return Queued
		}
		return Failed
	case state == runner.Cancelled:
		return Cancelled
	}
	return Failed
}
