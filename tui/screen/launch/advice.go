package launch

import (
	"encoding/json"
	"fmt"

	"boost-tui/experiment"
	"boost-tui/profiler/compare"
	"boost-tui/profiler/stats"
	"boost-tui/runner"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/pick"
)

// looked bounds how many of the latest runs are looked at for advice.
const looked = 200

// tinySteps is what to advise for tiny before a run of it has been measured here.
const tinySteps = 400

// slowStep, in seconds, is a step so slow that the least number of steps is enough: what to advise of a model that
// nothing is known of.
const slowStep = 60

// earlier are the runs that say something about an experiment: newest first, at most looked.
func (m *Model) earlier(like func(experiment.Experiment) bool) []runner.Info {
	var out []runner.Info
	for i := len(m.infos) - 1; i >= max(0, len(m.infos)-looked); i-- {
		if in := m.infos[i]; in.Err == nil && in.Run.Preflight == nil && like(in.Run.Experiment) {
			out = append(out, in)
		}
	}
	return out
}

// stepSeconds is the median step that a run's agent noted; 0 when there is none.
func stepSeconds(in runner.Info) float64 {
	var s compare.Summary
	if in.Result == nil || json.Unmarshal(in.Result.Summary, &s) != nil || s.StepTimeMedian == nil {
		return 0
	}
	return *s.StepTimeMedian
}

// sameWork reports whether a step of both takes about the same time.
func sameWork(a, b experiment.Experiment) bool {
	return a.Model == b.Model && a.Parallel == b.Parallel && a.Step == b.Step
}

// stepsAdvice says in a line when experiments have likely too few steps for a verdict (PROFILING.md §7); "" when not. They
// are held against each other, so the one that needs most counts; those that nothing is known of, only when nothing is
// known of any.
func (m *Model) stepsAdvice(es ...experiment.Experiment) string {
	steps := es[0].Train.Steps
	if after := es[0].Train.StopAfter; after > 0 {
		steps = min(steps, after)
	}
	need, from := 0, ""
	for _, e := range es {
		for _, in := range m.earlier(func(other experiment.Experiment) bool { return sameWork(e, other) }) {
			if s := stepSeconds(in); s > 0 {
				if n := (stats.StepsNeeded(s) + 9) / 10 * 10; n > need {
					need, from = n, pick.Short(in.ID)+" took "+format.Millis(s)+" ms a step; "
				}
				break
			}
		}
	}
	if need == 0 {
		need = stats.StepsNeeded(slowStep)
		if es[0].Model.Size == "tiny" {
			need = tinySteps
		}
	}
	if steps >= need {
		return ""
	}
	return fmt.Sprintf("%d steps are likely too few for a verdict: take %d (%sthe first 10 s do not count)", steps, need, from)
}

// lastLaunches describes the latest runs of the draft's configuration, newest first.
func (m *Model) lastLaunches() string {
	want, text := m.draft.resolved, ""
	for i, in := range m.earlier(func(e experiment.Experiment) bool {
		return sameWork(e, want) && e.Train == want.Train && e.Where == want.Where
	}) {
		if i == 3 {
			break
		}
		text += "  " + pick.Short(in.ID) + " " + string(in.State)
		if s := stepSeconds(in); s > 0 {
			text += " " + format.Millis(s) + " ms"
		}
	}
	return text
}

// besides warns of the runs that are going: lines for a dialog, how to call the way that waits for them, and the run
// to wait for. All are empty when nothing is going.
func (m *Model) besides() (lines []string, wait, after string) {
	going := m.going()
	if len(going) == 0 {
		return nil, "", ""
	}
	last := going[len(going)-1]
	lines = append(lines, "", "! "+format.Many(len(going), "other run")+" of this machine: together they slow each other down,", "  and neither can be compared with others.")
	for _, in := range going {
		lines = append(lines, layout.Clean(fmt.Sprintf("  %s %s: %s", pick.Short(in.ID), in.State, describe(in.Run.Experiment))))
	}
	return lines, "wait for " + pick.Short(last.ID), last.ID
}
