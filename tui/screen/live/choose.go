package live

import (
	"slices"

	"boost-tui/runner"
	"boost-tui/tui/pick"
)

// newest reports whether id is the run that would be shown by itself.
func (m *Model) newest(id string) bool { return id == m.pick() }

// pick is the newest run that goes on, else the oldest that waits, whose turn
// is next, else the newest.
func (m *Model) pick() string {
	for i := len(m.infos) - 1; i >= 0; i-- {
		if m.infos[i].State == runner.Running {
			return m.infos[i].ID
		}
	}
	for i := range m.infos {
		if m.infos[i].State == runner.Pending {
			return m.infos[i].ID
		}
	}
	if n := len(m.infos); n > 0 {
		return m.infos[n-1].ID
	}
	return ""
}

// find is the run with the ID.
func (m *Model) find(id string) (runner.Info, bool) {
	for i := range m.infos {
		if m.infos[i].ID == id {
			return m.infos[i], true
		}
	}
	return runner.Info{}, false
}

// followed reports whether another run waits, or waited, for the one with the ID, or goes on from it.
func (m *Model) followed(id string) bool {
	return slices.ContainsFunc(m.infos, func(in runner.Info) bool {
		return in.Run.After == id || in.Run.Restart != nil && in.Run.Restart.Of == id
	})
}

// choose finds references for the shown run.
func (m *Model) choose() {
	m.auto[0], m.auto[1] = pick.Beside(m.infos, m.run)
}

// finished counts the runs that can be references.
func finished(infos []runner.Info) (n int) {
	for i := range infos {
		if infos[i].State == runner.Finished {
			n++
		}
	}
	return n
}

// worthMoving reports whether a run that was not asked for should be shown: one
// that runs while the shown one does not, or waits while that is over.
func (m *Model) worthMoving(id string) bool {
	next, ok := m.find(id)
	if !ok || id == m.run.ID {
		return false
	}
	switch next.State {
	case runner.Running:
		return m.run.State != runner.Running
	case runner.Pending:
		return !m.live()
	}
	return false
}
