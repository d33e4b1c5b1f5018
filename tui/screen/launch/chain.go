package launch

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"boost-tui/experiment"
	"boost-tui/tui/msg"
	"boost-tui/tui/widget/modal"

	tea "github.com/charmbracelet/bubbletea"
)

// chain is runs that are started one after another, because ranks on one
// machine would slow each other down. The next one starts when the one before
// is over and a UI is open; the chain is part of the session, so that a later
// UI carries on. Its runs share a tag: a UI that was killed after a start and
// before it wrote the session down would else start that run twice.
type chain struct {
	Tag    string                  `json:"tag,omitempty"`
	Queue  []experiment.Experiment `json:"queue,omitempty"` // resolved, still to start
	Done   []string                `json:"done,omitempty"`  // IDs of those started
	Wait   string                  `json:"wait,omitempty"`  // ID whose end is waited for
	Seen   bool                    `json:"seen,omitempty"`  // Wait was in a listing: it is gone when it no longer is
	Active bool                    `json:"active,omitempty"`
	busy   bool
}

// askThree checks and asks, then starts the first of the three schemes.
func (m *Model) askThree() tea.Cmd {
	if m.chain.Active || m.launching {
		return msg.Send(msg.Toast{Level: msg.Warn, Text: "runs are waiting for their turn already; X forgets them"})
	}
	var queue []experiment.Experiment
	tag := chainTag(m.env.Now())
	lines := []string{}
	for _, e := range m.draft.three() {
		resolved, err := e.Resolve()
		if err == nil {
			err = experiment.Invalid(resolved.Validate(m.draft.machine))
		}
		if err != nil {
			return msg.Send(msg.Toast{Level: msg.Bad, Text: fmt.Sprintf("%s cannot run: %v", e.Parallel.Scheme, err)})
		}
		resolved.Tags = append(slices.Clone(resolved.Tags), tag)
		queue = append(queue, resolved)
		lines = append(lines, fmt.Sprintf("%d. %s", len(queue), describe(resolved)))
	}
	lines = append(lines, "", "One after another: together they would slow each other down.",
		"Each survives the UI; the next starts while a UI is open.")
	return msg.Send(msg.Open{
		Modal: modal.Confirm{Title: "Launch three schemes", Lines: lines, Yes: "launch all three"},
		Then: func(answer any) tea.Cmd {
			if answer == nil {
				return nil
			}
			m.chain = chain{Tag: tag, Queue: queue, Active: true}
			return m.chainStart()
		},
	})
}

// chainStart starts the next run of the chain.
func (m *Model) chainStart() tea.Cmd {
	if m.chain.busy || len(m.chain.Queue) == 0 {
		return nil
	}
	m.chain.busy = true
	return m.launch(m.chain.Queue[0], len(m.chain.Done))
}

// chainLaunched notes a start. The references for speed-ups are set from it.
func (m *Model) chainLaunched(in launched) tea.Cmd {
	m.chain.busy = false
	if in.err != nil {
		m.chain = chain{}
		return msg.Send(msg.Toast{Level: msg.Bad, Text: "the three schemes stop here: " + in.err.Error()})
	}
	m.chain.Queue = m.chain.Queue[min(1, len(m.chain.Queue)):]
	m.chain.Done, m.chain.Wait, m.chain.Seen = append(m.chain.Done, in.id), in.id, false
	refs := msg.References{Baseline: m.chain.Done[0]}
	if len(m.chain.Done) > 1 {
		refs.Vanilla = m.chain.Done[1]
	}
	cmds := []tea.Cmd{msg.Send(msg.RunsChanged{}), msg.Send(refs),
		msg.Send(msg.Toast{Level: msg.Good, Text: fmt.Sprintf("started %s, %d to go", in.id, len(m.chain.Queue))})}
	if in.step == 0 {
		cmds = append(cmds, msg.Send(msg.OpenRun{ID: in.id}))
	}
	return tea.Batch(cmds...)
}

// chainNext starts the next run when the one that is waited for is over.
func (m *Model) chainNext(runs msg.Runs) tea.Cmd {
	if !m.chain.Active || m.chain.busy || m.env.ReadOnly || !m.env.Primary() {
		return nil
	}
	for _, in := range runs.Infos {
		if in.ID != m.chain.Wait {
			continue
		}
		m.chain.Seen = true
		if !in.State.Over() {
			return nil
		}
	}
	if m.chain.Wait != "" && !m.chain.Seen {
		return nil // a listing from before the start
	}
	if id := m.chain.started(runs); id != "" {
		return m.chainLaunched(launched{id: id, step: len(m.chain.Done)})
	}
	if len(m.chain.Queue) > 0 {
		return m.chainStart()
	}
	done := m.chain.Done
	m.chain = chain{}
	return tea.Batch(msg.Send(msg.MarkRuns{IDs: done}),
		msg.Send(msg.Toast{Level: msg.Good, Text: "the three schemes are through: 3 compares them"}))
}

// started finds a run of the chain that is next in the queue and was started
// by a UI that is gone.
func (c *chain) started(runs msg.Runs) string {
	if len(c.Queue) == 0 {
		return ""
	}
	for _, in := range runs.Infos {
		e, next := in.Run.Experiment, c.Queue[0]
		if slices.Contains(in.Run.Tags, c.Tag) && e.Model.Variant == next.Model.Variant && e.Parallel.Scheme == next.Parallel.Scheme && !slices.Contains(c.Done, in.ID) {
			return in.ID
		}
	}
	return ""
}

// chainTag names a chain: the base 36 of its start in seconds, as far as it
// tells one afternoon's chains apart.
func chainTag(now time.Time) string {
	s := strconv.FormatInt(now.Unix(), 36)
	return "three-" + s[max(0, len(s)-4):]
}

func (m *Model) dropChain() tea.Cmd {
	n := len(m.chain.Queue)
	m.chain = chain{}
	return msg.Send(msg.Toast{Text: fmt.Sprintf("%d waiting run(s) forgotten; what runs goes on", n)})
}
