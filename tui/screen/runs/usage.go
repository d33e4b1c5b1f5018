package runs

import (
	"context"
	"fmt"
	"time"

	"boost-tui/runner"
	"boost-tui/tui/format"
	"boost-tui/tui/theme"

	tea "github.com/charmbracelet/bubbletea"
)

const (
	// usageDeadline bounds the counting of one run's files: a network file system may take its time.
	usageDeadline = 10 * time.Second
	// usageAge is how old the disk use of a run that goes on may get.
	usageAge = 30 * time.Second
)

// used is what a run takes on its disk, as of a time.
type used struct {
	usage runner.Usage
	known bool // false: it could not be counted
	at    time.Time
}

// counted is the answer about one run.
type counted struct {
	id    string
	usage runner.Usage
	known bool
}

// usageOf is what is known of a run's disk use.
func (m *Model) usageOf(in *runner.Info) (runner.Usage, bool) {
	u := m.usage[in.ID]
	return u.usage, u.known
}

// readUsage counts what one more run takes: of those on the screen, and, where the list is ordered by that, of all. One at a
// time: its message asks for the next.
func (m *Model) readUsage() tea.Cmd {
	if !m.visible || m.counting || m.env.Usage == nil {
		return nil
	}
	candidates := m.nearby()
	if m.sortBy == "disk" {
		candidates = append(candidates, m.shown...)
	}
	for _, r := range candidates {
		old, seen := m.usage[r.ID]
		if seen && (r.State.Over() || m.now().Sub(old.at) < usageAge) {
			continue
		}
		m.counting = true
		id, dir, count := r.ID, r.Dir, m.env.Usage
		return func() tea.Msg {
			ctx, stop := context.WithTimeout(context.Background(), usageDeadline)
			defer stop()
			usage, err := count(ctx, dir)
			return counted{id, usage, err == nil}
		}
	}
	return nil
}

// markedDisk is what the marked runs take together, as far as it is known.
func (m *Model) markedDisk() string {
	sum, unknown := int64(0), 0
	for _, id := range m.table.Marked() {
		if u := m.usage[id]; u.known {
			sum += u.usage.Bytes
		} else {
			unknown++
		}
	}
	switch {
	case sum == 0:
		return ""
	case unknown > 0:
		return ", at least " + format.Bytes(sum)
	}
	return ", " + format.Bytes(sum)
}

// placeLines say where a run is, what it went on from and as, and what it takes on its disk.
func (m *Model) placeLines(t theme.Theme, r run, w int, short bool) (lines []string) {
	add := func(style theme.Style, text string, args ...any) {
		lines = append(lines, wrapped(t, style, fmt.Sprintf(text, args...), w)...)
	}
	if x := r.Run.Restart; x != nil {
		add(t.Dim, "restart %d, of %s", x.Number, Short(x.Of))
	}
	if r.Result != nil && r.Result.RestartedAs != "" {
		add(t.Warn, "goes on as %s", Short(r.Result.RestartedAs))
	}
	if short {
		return lines
	}
	if text := placeText(r.Info); text != "" {
		add(t.Dim, "%s", text)
	}
	if u, ok := m.usageOf(r.Info); ok {
		text := "disk " + format.Bytes(u.Bytes)
		if u.Checkpoints > 0 {
			text += ", checkpoints " + format.Bytes(u.Checkpoints)
		}
		add(t.Dim, "%s, %s", text, format.Many(u.Files, "file"))
	}
	return lines
}
