package live

import (
	"time"

	"boost-tui/experiment"
	"boost-tui/runner"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"

	tea "github.com/charmbracelet/bubbletea"
)

const (
	// jobEvery is how often the scheduler is asked about the shown run's job.
	jobEvery = 5 * time.Second
	// jobShort is from when on the time that a job has left is a warning.
	jobShort = 5 * time.Minute
)

// jobOf is what is known of the shown run's job.
type jobOf struct {
	asking bool
	asked  time.Time
	heard  time.Time // of the answer
	view   *runner.JobView
}

// jobHeard is the scheduler's answer.
type jobHeard struct {
	id   string
	view *runner.JobView
}

// askJob asks about the job of a run that goes on; it may take a while, and nobody waits for it.
func (m *Model) askJob() tea.Cmd {
	if m.env.Job == nil || m.job.asking || !m.live() || m.run.Run.Experiment.Where.Where != experiment.WhereSlurm || m.now.Sub(m.job.asked) < jobEvery {
		return nil
	}
	m.job.asking, m.job.asked = true, m.now
	in, ask := m.run, m.env.Job
	return func() tea.Msg { return jobHeard{in.ID, ask(in)} }
}

func (m *Model) takeJob(in jobHeard) {
	if in.id == m.run.ID {
		m.job.asking, m.job.view, m.job.heard = false, in.view, m.env.Now()
	}
}

// jobLeft is how long the run's job may go on.
func (m *Model) jobLeft() (time.Duration, bool) {
	v := m.job.view
	if v == nil || v.Left == nil || !m.live() {
		return 0, false
	}
	return max(0, time.Duration(*v.Left*float64(time.Second))-m.now.Sub(m.job.heard)), true
}

// jobLine says which job the run is and what time that has left. What a pending one waits for is its cause already.
func (m *Model) jobLine() (string, theme.Style) {
	t, v := m.env.Theme, m.job.view
	if v == nil || m.run.State != runner.Running {
		return "", t.Dim
	}
	text, style := "Slurm job "+v.ID, t.Dim
	if v.Nodes != "" {
		text += " on " + v.Nodes
	}
	if v.Partition != "" {
		text += ", partition " + v.Partition
	}
	if v.Problem != "" {
		text += ": " + v.Problem
	}
	if left, ok := m.jobLeft(); ok {
		text += ", " + format.Duration(left) + " left"
		if left < jobShort {
			text, style = t.Glyphs.Warn+" "+text+" until its time limit ends it", t.Warn
		}
	}
	return layout.Clean(text), style
}
