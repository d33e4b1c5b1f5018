package sweeps

import (
	"fmt"
	"time"
)

// standing is what a sweep's phase depends on, beside who looks after it at the moment.
type standing struct {
	paused, pauseNow bool
	pausedBy         string
	stopped          bool
	stopCause        string
	total, over      int // points, and those that need nothing more
	news             news
	sittings
}

// news are the ways in which a sweep whose points were all over got more of them to do, since which nobody has begun
// to. Then it is no broken one that waits.
type news uint8

const (
	grown   news = 1 << iota // points were added
	retried                  // points were queued again
)

// more calls a change that may leave points to do, and notes what it was where all were over before.
func (s *standing) more(what news, change func()) {
	if s.finished() {
		s.news = 0
	} else if s.news == 0 {
		change()
		return
	}
	change()
	if !s.finished() {
		s.news |= what
	}
}

// words say what waits: "3 points wait since it was grown".
func (n news) words(left int) string {
	points := fmt.Sprintf("%d points wait", left)
	if left == 1 {
		points = "1 point waits"
	}
	switch n {
	case grown:
		return points + " since it was grown"
	case grown | retried:
		return points + " since it was grown and points were queued again"
	}
	return points + " since points were queued again"
}

// finished reports whether every point is over. A sweep without points was cut off.
func (s *standing) finished() bool { return s.total > 0 && s.over == s.total }

// presence fills in what depends on who looks after the sweep and on the time.
func (s *standing) presence(st *State, p presence, now time.Time) {
	st.Held, st.Holder = p.held, s.process
	if p.held {
		st.Holder = p.holder.Process
	}
	if s.epoch > 0 {
		st.Since = time.Unix(0, s.start).UTC()
	}
	st.Worked = s.worked(p, now)
	st.PauseNow = s.paused && s.pauseNow
	st.Phase, st.Cause = s.phase(p)
}

// phase says what has become of the sweep, and why.
func (s *standing) phase(p presence) (Phase, string) {
	switch {
	case s.finished():
		return PhaseFinished, ""
	case s.stopped:
		return PhaseStopped, s.stopCause
	case s.paused && s.pausedBy == "":
		return PhasePaused, "paused"
	case s.paused:
		return PhasePaused, "paused by " + s.pausedBy
	case p.held:
		return PhaseRunning, p.who() + " looks after it"
	case s.total == 0:
		return PhaseInterrupted, "it has no points"
	case !s.open && p.named && (s.epoch == 0 || p.holder.Process != s.process): // it did not live to write a line
		return PhaseInterrupted, p.who() + ", which was to look after it, is gone"
	case s.news != 0 && !s.open:
		return PhaseWaiting, s.news.words(s.total - s.over)
	case s.epoch == 0:
		return PhaseWaiting, "nobody has started it"
	case s.open:
		return PhaseInterrupted, fmt.Sprintf("process %d on %s, which looked after it, is gone", s.process.PID, s.process.Host)
	}
	return PhaseInterrupted, fmt.Sprintf("process %d on %s, which looked after it, has left", s.process.PID, s.process.Host)
}
