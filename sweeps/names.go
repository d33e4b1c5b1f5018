package sweeps

import (
	"errors"
	"fmt"
	"strings"

	"boost-tui/runner"
)

// Schema is the version of the journal, the plans and holder.json.
const Schema = 1

// FolderName is the folder of the sweeps in the folder of the runs.
const FolderName = "sweeps"

// Files of a sweep's directory.
const (
	TOMLFile      = "sweep.toml"      // the newest plan's file, a copy for people
	JournalFile   = "journal.jsonl"   // what happened; whoever appends holds its locks for the moment: LockFile, and a flock
	LockFile      = "journal.lock"    // a link that names who appends, which holds between machines too
	HoldFile      = "hold.lock"       // locked (flock) by the program that looks after the sweep, as long as it does; of other machines the journal tells
	HolderFile    = "holder.json"     // which program that is
	HeartbeatFile = "heartbeat"       // its modification time is that program's sign of life
	ReserveFile   = "journal.reserve" // room for the last words on a disk that fills up
	LogFile       = "sweeper.log"     // stderr of a program that looks after it detached
)

// planFile names the file of a plan.
func planFile(n int) string { return fmt.Sprintf("plan-%03d.json", n) }

// Bounds of what is read: a directory may be another user's, or damaged.
const (
	maxJournalBytes = 1 << 30
	maxLineBytes    = 8 << 20 // the ids of all points of the largest sweep
	maxPlanBytes    = 1 << 29
	maxFileBytes    = 1 << 20 // of every other file
	maxPoints       = 600_000 // a space of the largest size with both twins
	maxPlans        = 1000
	maxTextRunes    = 400
	maxNotes        = 200
	maxPointID      = 64
)

// Errors that callers tell apart.
var (
	// ErrChanged is in the error of a wish that does not fit the sweep, or does not any more: look at its state again.
	ErrChanged = errors.New("the sweep has changed meanwhile")
	// ErrLost is in the error of a Hold whose sweep another program has taken over.
	ErrLost = errors.New("another program looks after the sweep now")
	// ErrNothingNew is the answer to a Grow without new points.
	ErrNothingNew = errors.New("every point of the larger space that can run is part of the sweep already")
	// ErrDeleted is in the error about a sweep whose directory is gone; errors.Is(err, fs.ErrNotExist) holds too.
	ErrDeleted = errors.New("the sweep was deleted")
)

// checkPointID refuses what no point can be called.
func checkPointID(id string) error {
	if id == "" || len(id) > maxPointID {
		return fmt.Errorf("a point's id has from 1 to %d characters", maxPointID)
	}
	for i := range len(id) {
		if c := id[i]; !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || i > 0 && (c == '-' || c == '_' || c == '.')) {
			return fmt.Errorf("%q is not the id of a point", runner.CleanTo(id, 40))
		}
	}
	return nil
}

// text makes foreign text safe for a terminal and short.
func text(s string) string {
	if len(s) <= maxTextRunes && plain(s) {
		return s
	}
	return runner.CleanTo(s, maxTextRunes)
}

// plain reports whether the text is ASCII that can be printed, as nearly all is.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return !strings.HasSuffix(s, " ")
}

func texts(list []string) []string {
	for i, s := range list {
		list[i] = text(s)
	}
	return list
}
