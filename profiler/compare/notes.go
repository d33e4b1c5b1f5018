package compare

import (
	"fmt"
	"slices"
	"strings"

	"boost-tui/experiment"
	"boost-tui/profiler/stats"
)

// Notes say what a reader must know to trust the figures, one sentence each.
func (t Table) Notes() []string {
	var notes []string
	if t.Baseline == "" {
		notes = append(notes, "No full-rank run among these: no speed-up against full-rank.")
	}
	for i := range t.Rows {
		notes = append(notes, t.Rows[i].notes()...)
	}
	if slices.ContainsFunc(t.Rows, func(r Row) bool {
		return !r.Short && r.Kept >= stats.VerdictSteps && r.Kept < stats.RecommendedSteps
	}) {
		notes = append(notes, fmt.Sprintf("Fewer than %d steps: intervals are somewhat too narrow.", stats.RecommendedSteps))
	}
	if slices.ContainsFunc(t.Rows, func(r Row) bool { return r.VsFull.unclear() || r.VsVanilla.unclear() }) {
		notes = append(notes, "~ is no significant difference.")
	}
	return notes
}

// unclear reports whether the test found no difference.
func (s *Speedup) unclear() bool { return s != nil && s.Verdict == "~" }

// notes of one row: what limits its figures, then in what it differs.
func (r *Row) notes() (notes []string) {
	name := plain(r.ID)
	say := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if r.ClaimedID != "" {
		say("%s says in its run.json that it is %s.", name, plain(r.ClaimedID))
	}
	switch {
	case r.Kept == 0:
		say("%s has no complete step.", name)
	case r.Short:
		say("%s is short (%d of %d steps kept): figures without a verdict.", name, r.Kept, r.Steps)
	case r.Kept < stats.VerdictSteps:
		say("%s has %d kept steps, fewer than %d: figures without a verdict.", name, r.Kept, stats.VerdictSteps)
	}
	if r.EmulatedLink != "" {
		say("%s: the messages of %s were slowed down to %s; its times are not this machine's.", experiment.EmulatedLink, name, plain(r.EmulatedLink))
	}
	if r.EmulatedDevice {
		say("%s: the processor ran the CUDA kernels of %s thread by thread; its times say nothing about a GPU: figures without a verdict.", experiment.EmulatedDevice, name)
	}
	if len(r.Overlapped) > 0 {
		say("! %s ran while %s ran: they slowed each other; no verdict.", name, plain(strings.Join(r.Overlapped, ", ")))
	}
	if len(r.Unseen) > 0 {
		say("Whether %s ran beside %s nobody can tell: the steps cannot be read.", plain(strings.Join(r.Unseen, ", ")), name)
	}
	if !r.Comparable {
		say("≠ %s is not comparable: %s.", name, r.differences(StepTime))
	}
	switch d := r.differences(Loss); {
	case d != "":
		say("≠ The loss of %s is not comparable: %s.", name, d)
	case !r.LossMatches && r.Comparable:
		say("≠ The loss of %s is not comparable: it is that of step %d.", name, r.Steps)
	}
	if r.StepsLeftOut > 0 {
		say("%s left out %d of %d updates: their loss or gradient norm was not finite.", name, r.StepsLeftOut, r.Steps)
	}
	if r.UnreadableLines > 0 {
		say("%s has %d lines that could not be read.", name, r.UnreadableLines)
	}
	return notes
}

// differences in words: "steps 200 instead of 100, seed 2 instead of 1".
func (r *Row) differences(what Changes) string {
	var d []string
	for _, x := range r.Differences {
		if x.Changes == what {
			d = append(d, fmt.Sprintf("%s %s instead of %s", x.Name, short(x.Run), short(x.Base)))
		}
	}
	return strings.Join(d, ", ")
}
