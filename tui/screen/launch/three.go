package launch

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"boost-tui/experiment"
	"boost-tui/tui/msg"
	"boost-tui/tui/widget/modal"

	tea "github.com/charmbracelet/bubbletea"
)

// launchedThree is how the start of the three schemes went: err says why there
// are fewer than three ids.
type launchedThree struct {
	ids []string
	err error
}

// askThree checks and asks, then starts the three schemes.
func (m *Model) askThree() tea.Cmd {
	if m.launch.busy() {
		return msg.Send(msg.Toast{Level: msg.Warn, Text: "a launch is under way"})
	}
	if starts(m.draft.set) {
		return refuse("the three schemes are different models: they cannot start from the same weights; L launches this one")
	}
	if m.waits() {
		return msg.Send(msg.Toast{Level: msg.Warn, Text: "what they compute on is still being looked at"})
	}
	var runs []experiment.Experiment
	tag := threeTag(m.env.Now())
	lines := []string{}
	for _, e := range m.draft.three() {
		resolved, err := m.draft.resolve(e)
		if err == nil {
			err = experiment.Invalid(m.draft.broken(resolved))
		}
		if err != nil {
			return refuse(fmt.Sprintf("%s cannot run: %v", e.Parallel.Scheme, err))
		}
		resolved.Tags = append(slices.Clone(resolved.Tags), tag)
		runs = append(runs, resolved)
		lines = append(lines, fmt.Sprintf("%d. %s", len(runs), describe(resolved)))
	}
	lines = append(lines, "", "One after another: together they would slow each other down.",
		"They go on when the UI or the terminal is closed.")
	if advice := m.stepsAdvice(runs...); advice != "" {
		lines = append(lines, "", "! "+advice)
	}
	others, wait, after := m.besides()
	return confirm(msg.Open{
		Modal: modal.Confirm{Title: "Launch three schemes", Lines: append(lines, others...), Yes: strings.Replace(yesNow(wait), "launch", "launch all three", 1), Alt: wait},
		Then: func(answer any) tea.Cmd {
			switch answer {
			case nil:
				return nil
			case modal.Alternative:
				return m.launchThree(runs, after)
			}
			return m.launchThree(runs, "")
		},
	})
}

// launchThree starts all runs at once, each of which waits for the one before
// it: ranks on one machine would slow each other down. The first waits for the
// run before, if there is one.
func (m *Model) launchThree(runs []experiment.Experiment, before string) tea.Cmd {
	start := m.env.Launch
	return tea.Batch(m.begin("three schemes"), func() tea.Msg {
		var out launchedThree
		for _, e := range runs {
			ctx, cancel := context.WithTimeout(context.Background(), deadline(e.Where))
			before, out.err = start(ctx, e, before)
			cancel()
			if out.err != nil {
				break
			}
			out.ids = append(out.ids, before)
		}
		return out
	})
}

// startedThree opens the first run. It chooses no references: Compare and Live
// find those that fit by themselves, and go on to when there are newer runs.
// What was started before a failure goes on.
func (m *Model) startedThree(in launchedThree) tea.Cmd {
	m.end(in.err, in.ids...)
	toast := msg.Toast{Level: msg.Good, Text: "started three runs, one after another: 3 compares those that are over"}
	if in.err != nil {
		toast = msg.Toast{Level: msg.Bad, Text: fmt.Sprintf("%d of the three schemes started: %v", len(in.ids), in.err)}
	}
	if len(in.ids) == 0 {
		return msg.Send(toast)
	}
	return tea.Batch(msg.Send(msg.RunsChanged{}), msg.Send(msg.OpenRun{ID: in.ids[0]}), msg.Send(toast))
}

// threePrefix begins the tag of three runs that were started together.
const threePrefix = "three-"

// threeTag is what the three runs have in common: the base 36 of their start in
// seconds, as far as it tells one afternoon's apart.
func threeTag(now time.Time) string {
	s := strconv.FormatInt(now.Unix(), 36)
	return threePrefix + s[max(0, len(s)-4):]
}
