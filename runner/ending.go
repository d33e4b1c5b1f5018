package runner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// ending is the decision to end the run before all ranks were through.
type ending struct {
	state State // "": none was taken
	cause string
	term  <-chan time.Time
	kill  <-chan time.Time
	// until is how long ranks that write a checkpoint are let be; zero: not at all.
	until time.Time
}

// Whom nobody waits for any more gets no time to finish a step.
const (
	directoryGone = "its directory was deleted"
	gonePatience  = time.Second
	goneLooks     = 2 // in a row, so that one hiccup of a file system ends no run
)

// look is what the agent does again and again while its ranks run.
func (a *agent) look() {
	if reason, ok := cancelRequest(a.dir); ok {
		a.cancel(reason)
	}
	if !a.gone && a.removed() {
		a.gone = true
		a.cancel(directoryGone)
		if a.meter != nil {
			_ = a.meter.stop() // there is nothing left to write to
			a.meter = nil
		}
	}
	if a.ending.state != "" || a.leader != nil { // the first host looks after all
		return
	}
	a.tellHalt(time.Now())
	if cause := a.dog.look(a.standings, time.Now()); cause != "" {
		a.note(record.EventAlert, "stalled", cause, nil)
		a.fail(cause)
	}
}

// removed reports whether the run's directory is no longer there, or another one is in its place.
func (a *agent) removed() bool {
	st, err := os.Stat(a.dir)
	gone := err == nil && a.held != nil && !os.SameFile(st, a.held)
	if err == nil {
		_, err = os.Lstat(filepath.Join(a.dir, protocol.RunFile))
	}
	if gone || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESTALE) {
		a.missing++
	} else {
		a.missing = 0
	}
	return a.missing >= goneLooks
}

// signalReason says why a signal ends the run: whoever sent it may have left a request beside it.
func (a *agent) signalReason() string { return reasonToEnd(a.dir) }

// cancel ends the run because somebody wants it, or nobody stands over it any more.
func (a *agent) cancel(reason string) {
	reason = a.alone(reason)
	if a.ending.state != "" {
		return
	}
	patience, until := finishPatience, time.Now().Add(savePatience)
	switch reason {
	case launcherGone:
		patience, until = killAfter, time.Time{}
	case directoryGone:
		patience, until = gonePatience, time.Time{}
	}
	state := stateFor(reason)
	if state == Failed {
		patience, until = killAfter, time.Time{}
	}
	a.ending = ending{state: state, cause: reason, kill: time.After(patience), until: until}
	if reason == agentTold && a.o.Share.leads() {
		a.why = inquire()
	}
	a.note(record.EventState, "cancelling", reason, nil)
	a.tellOthers()
	a.askLeader(reason)
	a.crew.signal(syscall.SIGTERM)
	a.crew.wake()
}

// savePatience is how long ranks of a cancelled run may take to write their last checkpoint.
const savePatience = 2 * time.Minute

// grace is more time for ranks that are writing a checkpoint; nil: they have had enough.
func (a *agent) grace() <-chan time.Time {
	if saving(a.dir) && time.Now().Before(a.ending.until) {
		return time.After(watchEvery)
	}
	return nil
}

// saving reports whether a checkpoint of a run is being written.
func saving(dir string) bool {
	left, err := filepath.Glob(filepath.Join(escape(dir), protocol.CheckpointDir, protocol.CheckpointAside+"*[0-9]"))
	return err == nil && len(left) > 0
}

// escape makes a path match itself alone.
func escape(path string) string { return escaper.Replace(path) }

var escaper = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// fail ends the run because a rank died. The others have a moment to notice by themselves.
func (a *agent) fail(cause string) {
	if a.ending.state != "" {
		return
	}
	a.suspect()
	a.ending = ending{state: Failed, cause: cause, term: time.After(recordPatience), kill: time.After(killAfter)}
	a.tellOthers()
}

// tellOthers has the ranks of all other hosts end, where this agent leads.
func (a *agent) tellOthers() {
	if a.others != nil {
		a.others.server.Tell(say(wordEnd, order{a.ending.state, a.ending.cause}))
	}
}
