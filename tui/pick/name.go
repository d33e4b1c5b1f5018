package pick

import (
	"strings"

	"boost-tui/experiment"
	"boost-tui/profiler/compare"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
)

// Short names a run by the ending of its id, which tells runs apart: "#jkmn".
func Short(id string) string {
	if i := strings.LastIndexByte(id, '-'); i >= 0 && i < len(id)-1 && len(id) > 12 {
		return "#" + layout.Clean(id[i+1:])
	}
	return layout.Clean(id)
}

// Role is the part that a run plays in a comparison.
type Role int

// The roles, in the order of tables.
const (
	Baseline Role = iota
	Vanilla
)

// roles are the schemes that a reference is expected to have, how it is called
// when it has another, and both as the head of a narrow column.
var roles = [2]struct {
	scheme                 experiment.Scheme
	other, head, otherHead string
}{
	Baseline: {experiment.FullRank, "baseline", "full", "base"},
	Vanilla:  {experiment.Vanilla, "reference", "van", "ref"},
}

// Against says what a figure is held against, for all screens in the same
// words: "full-rank #ab12", or, where the marked baseline is something else,
// "baseline btp #ab12".
func Against(role Role, scheme, label string) string {
	name := strings.TrimSpace(layout.Clean(scheme) + " " + label)
	if scheme != string(roles[role].scheme) {
		name = roles[role].other + " " + name
	}
	return name
}

// Ratio writes a speed-up for all screens in the same way: in parentheses where
// no verdict can be given, because one of the two runs is too short, ran beside
// another or is not comparable; with ~ where the test finds no difference. own
// is that of a reference over itself. sure reports whether a verdict stands
// behind it: the others are drawn dim.
func Ratio(s *compare.Speedup, own bool, times, unknown string) (text string, sure bool) {
	if s == nil {
		return unknown, false
	}
	text = format.Ratio(s.Ratio, times)
	switch {
	case own:
		return text, true
	case s.Verdict == "":
		return "(" + text + ")", false
	case s.Verdict == "~":
		return "~" + text, false
	}
	return text, true
}

// Head is Against as the head of a narrow column: "full", "base", "van", "ref".
func Head(role Role, scheme string) string {
	if scheme != string(roles[role].scheme) {
		return roles[role].otherHead
	}
	return roles[role].head
}
