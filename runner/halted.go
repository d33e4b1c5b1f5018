package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// Ranks that are all stopped (SIGSTOP) wait for nobody, so that the watchdog has nothing to age: a run of one rank, or one that
// somebody halted as a whole. It is not ended, for whoever stopped them may want that; but everybody who looks at it is told.

// namedPIDs bounds the processes that are named.
const namedPIDs = 8

// halt is what an agent has said of ranks that are all stopped. Its zero value is ready.
type halt struct {
	looked time.Time
	told   bool
}

// tellHalt looks at the ranks, at most once a second, and says when all of them are stopped, and when they go on.
func (a *agent) tellHalt(now time.Time) {
	if now.Sub(a.halt.looked) < dogEvery {
		return
	}
	a.halt.looked = now
	halted := allStopped(a.standings(), a.run.World())
	if halted == a.halt.told {
		return
	}
	text, note := "", "the ranks go on"
	if halted {
		text = a.haltedText()
		note = text
	}
	if err := protocol.WriteFile(filepath.Join(a.dir, protocol.StoppedFile), []byte(text)); err != nil {
		a.diskTrouble(err)
		return // the next look tries again
	}
	a.halt.told = halted
	a.note(record.EventAlert, "stopped", note, nil)
}

// allStopped reports whether every rank of the world is heard of, and all that have not ended are stopped.
func allStopped(all []standing, world int) bool {
	stopped := 0
	for _, s := range all {
		if !s.Ended && !s.Stopped {
			return false
		}
		if s.Stopped {
			stopped++
		}
	}
	return stopped > 0 && len(all) >= world
}

// haltedText says what is stopped, and how it goes on.
func (a *agent) haltedText() string {
	var pids []string
	for _, r := range a.crew.ranks {
		if !r.ended {
			pids = append(pids, strconv.Itoa(r.proc.Pid))
		}
	}
	what, whom := "all ranks are", "them"
	if a.run.World() == 1 {
		what, whom = "its rank is", "it"
	}
	which := strings.Join(pids, " ")
	if a.o.Share.several() || len(pids) > namedPIDs {
		which = "of each process"
	}
	return fmt.Sprintf("%s stopped (SIGSTOP): nothing is computed; kill -CONT %s lets %s go on", what, which, whom)
}

// forgetHalt takes the word back when the run is over.
func (a *agent) forgetHalt() {
	err := os.Remove(filepath.Join(a.dir, protocol.StoppedFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.diskTrouble(err)
	}
}

// ranksHalted is what the agent of a run says of ranks that are all stopped; empty: they are not.
func ranksHalted(dir string) string {
	data, err := protocol.ReadFile(filepath.Join(dir, protocol.StoppedFile), 4096)
	if err != nil { // there is none, or it is not the agent's: the run is as it was
		return ""
	}
	return clean(string(data), maxLineRunes)
}
