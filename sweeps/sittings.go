package sweeps

import (
	"time"

	"boost-tui/runner"
)

// sittings are the times in which programs looked after a sweep, one after the other.
type sittings struct {
	epoch    int            // of the last one; 0: there was none
	open     bool           // no line says that it ended
	process  runner.Process // that looked after it
	start    int64          // Unix nanoseconds
	lastSign int64          // its last line, Unix nanoseconds
	closed   time.Duration  // of all that ended
}

// hold begins a sitting. One that is still open ended without a word, with its last sign of life.
func (s *sittings) hold(l *line) error {
	if l.Epoch != s.epoch+1 || l.Process == nil || l.Process.PID <= 0 {
		return errBad
	}
	if s.open {
		s.close(min(max(l.Until, s.lastSign), l.T))
	}
	p := *l.Process
	p.Host = runner.CleanTo(p.Host, 64)
	s.epoch, s.open, s.process, s.start, s.lastSign = l.Epoch, true, p, l.T, l.T
	return nil
}

// close ends the sitting at a time.
func (s *sittings) close(at int64) {
	s.closed, s.open = min(s.closed+length(s.start, at), longest), false
}

// longest bounds times that clocks make up, so that sums stay sums.
const longest = 100 * 365 * 24 * time.Hour

// length of a time between two looks at clocks that need not agree.
func length(from, to int64) time.Duration {
	if to <= from {
		return 0
	}
	return min(time.Duration(to-from), longest)
}

// worked is the time of all sittings. The open one lasts until now where its program is there, else until its last
// sign of life.
func (s *sittings) worked(p presence, now time.Time) time.Duration {
	if !s.open {
		return s.closed
	}
	end := s.lastSign
	switch mine := p.holder.Process == s.process; {
	case mine && p.held:
		end = max(end, now.UnixNano())
	case mine && !p.beat.IsZero():
		end = max(end, min(p.beat.UnixNano(), now.UnixNano()))
	}
	return min(s.closed+length(s.start, end), longest)
}
