package runner

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// Exits reads the exit records that are there, by rank. One that holds no log tail, because no agent was left to
// complete it, is given the end of the rank's log. Damaged ones are left out, and in the error.
func Exits(dir string) ([]protocol.ExitRecord, error) {
	exits, err := readExits(dir)
	for i, e := range exits {
		if !e.OK() && len(e.LogTail) == 0 {
			exits[i].LogTail = lastLines(readTail(record.LogPath(dir, e.Rank)), tailLines)
		}
	}
	return exits, err
}

// readExits reads the exit records that are there, by rank. Damaged ones are left out.
func readExits(dir string) ([]protocol.ExitRecord, error) {
	entries, err := os.ReadDir(protocol.ExitDir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the exit records: %w", err)
	}
	var exits []protocol.ExitRecord
	var errs []error
	for _, e := range entries {
		var rank int
		if _, err := fmt.Sscanf(e.Name(), "r%05d.json", &rank); err != nil {
			continue
		}
		rec, err := protocol.ReadExit(dir, rank)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		exits = append(exits, rec)
	}
	return exits, join(errs...)
}

// primary is the record of the rank that ended the run: the earliest failure that was no answer to another one.
func primary(exits []protocol.ExitRecord) protocol.ExitRecord {
	return slices.MinFunc(exits, func(a, b protocol.ExitRecord) int {
		return cmp.Or(
			compareBool(a.OK(), b.OK()),
			compareBool(a.Secondary, b.Secondary),
			cmp.Compare(a.TSNanos, b.TSNanos),
			cmp.Compare(a.Rank, b.Rank))
	})
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func allSecondary(exits []protocol.ExitRecord) bool {
	return !slices.ContainsFunc(exits, func(e protocol.ExitRecord) bool { return !e.Secondary && !e.OK() })
}

// allTold reports that every one of the ranks stopped between two steps because it was told to itself, as
// ranks are by their agent.
func allTold(exits []protocol.ExitRecord) bool {
	return !slices.ContainsFunc(exits, func(e protocol.ExitRecord) bool { return e.Code != protocol.CodeCancelled || e.Secondary })
}

// describe is a rank's end in one line: which, how, where; step and place once, for a rank may have said them itself.
func describe(e protocol.ExitRecord) string {
	s := fmt.Sprintf("rank %d", e.Rank)
	switch {
	case e.Cause != "":
		s += ": " + once(clean(e.Cause, maxLineRunes), labelOf(e))
	case e.Signal != "":
		s += " was ended by " + clean(e.Signal, 20)
	default:
		s += fmt.Sprintf(" ended with exit code %d", e.Code)
	}
	op := clean(e.Operation, 120)
	if place := labelOf(e); place != "" && strings.Contains(s, place) || strings.Contains(s, ": "+op+": ") {
		op = ""
	}
	var at []string
	switch {
	case e.Step > 0 && !strings.Contains(s, fmt.Sprintf("step %d:", e.Step)):
		at = append(at, fmt.Sprintf("step %d", e.Step))
	case e.Step <= 0 && op != "":
		at = append(at, "before the first step")
	}
	if op != "" {
		at = append(at, op)
	}
	if len(at) == 0 {
		return s
	}
	return s + " (" + strings.Join(at, ", ") + ")"
}

// labelOf is the place in the step that a rank was at, as errors name it: without what it did there. Empty: its end says more than the
// place, or nothing.
func labelOf(e protocol.ExitRecord) string {
	place, _, _ := strings.Cut(clean(e.Operation, 120), ", ")
	if place, _, _ = strings.Cut(place, " (micro-batch "); !strings.Contains(place, "/") || strings.Contains(place, " ") {
		return ""
	}
	return place
}

// once is a text that names a place once: where it is said again before a colon, it is left out.
func once(text, place string) string {
	first := strings.Index(text, place)
	if place == "" || first < 0 {
		return text
	}
	first += len(place)
	return text[:first] + strings.ReplaceAll(text[first:], " "+place+":", ":")
}
