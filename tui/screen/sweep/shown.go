package sweep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"boost-tui/sweeps"
	"boost-tui/tui/screen"

	tea "github.com/charmbracelet/bubbletea"
)

const (
	// pollEvery is the time between two looks at a sweep that moves, pollIdle
	// at one that does not: another program may change it.
	pollEvery = time.Second
	pollIdle  = 3 * time.Second
	// readDeadline bounds a look at a sweep, with the measuring of its runs.
	readDeadline = time.Minute
)

// shown is the sweep that the screen shows; the zero value: none, the grid is
// that of a new one.
type shown struct {
	id     string
	view   *screen.SweepView
	err    error
	digest *digest
	own    draft  // what the sweep's file says, with the options in force
	grown  *draft // the grid of the last session, until the sweep is read
	have   map[string]bool
	cursor cursor // where it was in the grid that the sweep was made from
	chosen look   // axes and figure of the heat map as they were chosen for this sweep
}

func (s *shown) state() *sweeps.State {
	if s.view == nil {
		return nil
	}
	return s.view.State
}

// point finds a point of the sweep.
func (s *shown) point(id string) *sweeps.PointState {
	if s.digest == nil {
		return nil
	}
	return s.digest.index[id]
}

// counts are the points by what has become of them.
func (s *shown) counts() (over, running, queued, failed, total int) {
	st := s.state()
	if st == nil {
		return
	}
	for _, p := range st.Points {
		switch p.Status {
		case sweeps.Queued:
			queued++
		case sweeps.Running:
			running++
		case sweeps.Failed:
			failed++
		}
	}
	total = len(st.Points)
	return total - running - queued, running, queued, failed, total
}

// moves reports whether the sweep may change by itself.
func (s *shown) moves() bool {
	st := s.state()
	if st == nil {
		return true
	}
	_, running, _, _, _ := s.counts()
	return st.Phase == sweeps.PhaseRunning || running > 0
}

// unread reports whether a sweep is shown whose grid is not known.
func (m *Model) unread() bool {
	return m.shown.id != "" && (m.shown.view == nil || m.shown.view.FileErr != nil)
}

// changed reports whether the grid of the shown sweep says something else than
// the sweep does.
func (m *Model) changed() bool {
	return m.shown.view != nil && !same(m.draft, m.shown.own)
}

// sweepRead is the answer to one look at a sweep.
type sweepRead struct {
	gen    uint64
	view   *screen.SweepView
	digest *digest // nil where the view is known already
	err    error
}

// read looks at the shown sweep, in a Cmd. Its answer asks for the next look.
func (m *Model) read() tea.Cmd {
	if !m.visible || m.shown.id == "" || m.env.Sweeps == nil {
		return nil
	}
	gen, id, known, before, ask := m.poll.Gen(), m.shown.id, m.shown.view, m.shown.digest, m.env.Sweeps
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), readDeadline)
		defer cancel()
		out := sweepRead{gen: gen}
		if out.view, out.err = ask.Read(ctx, id); out.err == nil && out.view != known {
			out.digest = digestOf(out.view, before)
		}
		return out
	}
}

// watch begins to look at the shown sweep now.
func (m *Model) watch() tea.Cmd {
	m.poll.Start()
	return m.read()
}

// take keeps what a look found; news is false where it is what is known already.
func (m *Model) take(in sweepRead) (cmd tea.Cmd, news bool) {
	if !m.poll.Mine(m.poll.Source, in.gen) {
		return nil, false
	}
	news = in.view != m.shown.view || fmt.Sprint(in.err) != fmt.Sprint(m.shown.err)
	if m.shown.err = in.err; errors.Is(in.err, fs.ErrNotExist) && m.shown.view == nil {
		gone := warn(in.err.Error())
		return tea.Batch(gone, m.choose("")), true
	}
	if in.err == nil && in.digest != nil {
		cmd = m.adopt(in.view, in.digest)
	}
	wait := pollIdle
	if m.shown.moves() && in.err == nil {
		wait = pollEvery
	}
	return tea.Batch(cmd, m.poll.Wait(m.env.After, wait)), news
}

// adopt shows a new view. The grid follows the sweep unless its user has
// changed it.
func (m *Model) adopt(view *screen.SweepView, d *digest) tea.Cmd {
	first := m.shown.view == nil
	follow := first || !m.changed()
	m.shown.view, m.shown.digest = view, d
	m.shown.own = draftOf(view.File.Spec, view.State.Options)
	more := len(view.State.Points) != len(m.shown.have)
	if more {
		m.shown.have = d.ids
	}
	var cmd tea.Cmd
	switch {
	case first && m.shown.grown != nil:
		m.draft, m.shown.grown = *m.shown.grown, nil
		cmd = m.recount()
	case first:
		m.draft, m.cursor = m.shown.own, m.shown.cursor
		cmd = m.recount()
	case follow && !same(m.draft, m.shown.own):
		m.replace(m.shown.own)
		cmd = m.recount()
	case more:
		cmd = m.recount()
	}
	m.settleCursor()
	m.rebuild()
	return tea.Batch(cmd, m.relook())
}

// choose shows a sweep; "" goes back to the new one.
func (m *Model) choose(id string) tea.Cmd {
	if id == m.shown.id {
		return nil
	}
	if m.shown.id == "" {
		m.fresh = m.draft
	}
	m.shown, m.history, m.failure, m.count = shown{id: id}, nil, "", counted{}
	m.cursor = cursor{}
	m.clearResults()
	if id == "" {
		m.draft, m.focus, m.full = m.fresh, paneGrid, false
		m.poll.Stop()
		return m.recount()
	}
	m.draft, m.focus = draft{Repeats: 1, Options: sweeps.DefaultOptions()}, paneQueue // until it is read
	return m.watch()
}
