package live

import (
	tea "github.com/charmbracelet/bubbletea"
)

// smallest is the least number of steps that a zoomed chart shows.
const smallest = 8

// windowOf is the range of steps that charts show of a run: the last span
// steps up to end, or up to the run's last where end is negative.
func windowOf(first, last, span, end int64) (from, to int64) {
	if span <= 0 || span > last-first {
		return first, last
	}
	to = last
	if end >= 0 {
		to = clamp64(end, first+span-1, last)
	}
	return to - span + 1, to
}

// window is what the charts show now.
func (m *Model) window() (from, to int64) {
	s := m.shown()
	return windowOf(s.first, s.last, m.span, m.end)
}

// cell is how many steps lie in one cell of a chart.
func (m *Model) cell() int64 {
	from, to := m.window()
	return max(1, (to-from+int64(m.plotW)/2)/int64(max(1, m.plotW)))
}

func (m *Model) moveCursor(key string) tea.Cmd {
	s := m.shown()
	if !s.some {
		return nil
	}
	by := m.cell()
	if key == "left" {
		by = -by
	}
	if m.cursor < 0 {
		_, m.cursor = m.window()
		if by > 0 {
			by = 0
		}
	}
	m.cursor = clamp64(m.cursor+by, s.first, s.last)
	return m.reveal()
}

func (m *Model) jumpCursor(key string) tea.Cmd {
	s := m.shown()
	if !s.some {
		return nil
	}
	m.cursor = s.last
	if key == "home" {
		m.cursor = s.first
	}
	return m.reveal()
}

// reveal moves the window to where the cursor is.
func (m *Model) reveal() tea.Cmd {
	s := m.shown()
	switch from, to := m.window(); {
	case m.cursor < from:
		m.end = m.cursor + m.span - 1
	case m.cursor > to:
		m.end = m.cursor
	default:
		return nil
	}
	if m.end >= s.last {
		m.end = -1
	}
	return m.read()
}

// zoom shows half or twice as many steps around the cursor, or up to the end
// when there is none.
func (m *Model) zoom(key string) tea.Cmd {
	s := m.shown()
	if !s.some {
		return nil
	}
	from, to := m.window()
	span := to - from + 1
	if key == "-" {
		span *= 2
	} else {
		span = max(smallest, span/2)
	}
	if span > s.last-s.first {
		return m.zoomReset("")
	}
	at := m.cursor
	if at < 0 || m.end < 0 && at >= s.last {
		m.span = span
		if m.end >= 0 {
			m.end = to
		}
		return m.read()
	}
	// The cursor keeps its place on the screen.
	left := float64(at-from) / float64(max(1, to-from))
	m.span, m.end = span, at-int64(left*float64(span-1)+0.5)+span-1
	if m.end >= s.last {
		m.end = -1
	}
	return m.read()
}

func (m *Model) zoomReset(string) tea.Cmd {
	m.span, m.end = 0, -1
	return m.read()
}

func clamp64(v, low, high int64) int64 { return max(low, min(v, high)) }
