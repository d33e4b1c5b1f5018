package compare

import (
	"fmt"
	"slices"
	"strings"

	"boost-tui/experiment"
	"boost-tui/tui/format"
	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/pick"
	"boost-tui/tui/widget/panel"
)

// View draws the screen; the drawing is kept until something changes.
func (m *Model) View(r layout.Rect) string {
	if m.cache != "" && m.drawn == r {
		return m.cache
	}
	m.drawn = r
	m.cache = layout.Fit(m.draw(r), r.W, r.H)
	return m.cache
}

func (m *Model) draw(r layout.Rect) string {
	if len(m.result.table.Rows) == 0 {
		return m.drawEmpty()
	}
	if m.full {
		return m.pane(m.focus, r.W, r.H)
	}
	switch layout.ClassOf(r.W, r.H+3) { // the root keeps three lines for itself
	case layout.Wide:
		return m.wide(r)
	case layout.Narrow:
		return m.narrow(r)
	}
	return m.tiny(r)
}

func (m *Model) drawEmpty() string {
	t := m.env.Theme
	lines := []string{""}
	switch {
	case m.result.err != nil:
		lines = append(lines, t.Bad.Paint("  "+t.Glyphs.Cross+" "+layout.Clean(m.result.err.Error())), "", "  a adds another run, 0 goes back to the latest comparable ones.")
	case m.busy:
		lines = append(lines, t.Dim.Paint("  reading the runs"+t.Glyphs.Ellipsis))
	default:
		lines = append(lines, "  Nothing to compare yet.", "", "  A finished full-rank, vanilla and btp run of the same model appear here by",
			"  themselves. Launch (1) starts all three with A. Or mark runs in Runs (5)", "  with space and press c.")
	}
	for _, line := range m.result.missing {
		lines = append(lines, t.Warn.Paint("  "+t.Glyphs.Warn+" "+layout.Clean(line)))
	}
	return strings.Join(lines, "\n")
}

// Status says what is compared with what.
func (m *Model) Status() string {
	n := len(m.result.table.Rows)
	if n == 0 {
		return ""
	}
	parts := []string{format.Many(n, "run")}
	switch origin := m.origin(); {
	case origin != "references picked":
		parts[0] += " (" + origin + "; 0 picks)"
	case m.result.auto:
		parts[0] += " (the latest comparable ones)"
	}
	if _, name, _, ok := m.reference(pick.Baseline); ok {
		parts = append(parts, "baseline "+strings.TrimPrefix(name, "baseline "))
	} else {
		parts = append(parts, "no full-rank baseline: b marks one")
	}
	if id := m.result.table.Vanilla; id != "" {
		parts = append(parts, "vanilla "+m.label(id))
	}
	if in, ok := m.info(m.result.table.Rows[0].ID); ok {
		e := in.Run.Experiment
		parts = append(parts, layout.Clean(fmt.Sprintf("%s seq %d micro-batch %d", e.Model.Size, e.Step.Seq, e.Step.MicroBatch)))
	}
	if m.busy {
		parts = append(parts, "reading"+m.env.Theme.Glyphs.Ellipsis)
	}
	for len(parts) > 1 && layout.Width(strings.Join(parts, "  ")) > m.drawn.W-1 {
		parts = parts[:len(parts)-1]
	}
	return layout.Cut(strings.Join(parts, "  "), max(1, m.drawn.W-1), m.env.Theme.Glyphs.Ellipsis)
}

// notes are the lines below the table: the best, and what to know. room bounds
// them; the best stays.
func (m *Model) notes(room int) []string {
	t := m.env.Theme
	lines := m.briefly()
	if line := m.bestLine(); line != "" {
		lines = append([]string{line}, lines...)
	}
	if len(lines) > room && room > 1 {
		lines = append(lines[:room-1], t.Dim.Paint(fmt.Sprintf("%d more notes: i shows them", len(lines)-room+1)))
	}
	return lines[:max(0, min(room, len(lines)))]
}

// briefly are the caveats with one line for all of what an emulated device or link is about, as the first: the column of the
// table is to be understood without a key.
func (m *Model) briefly() []string {
	var lines []string
	for _, line := range m.markNotes() {
		lines = append(lines, m.env.Theme.Warn.Paint(line))
	}
	return append(lines, slices.DeleteFunc(m.caveats(), func(line string) bool {
		return strings.Contains(line, experiment.EmulatedDevice+": ") || strings.Contains(line, experiment.EmulatedLink+": ")
	})...)
}

// caveats are what must be known to trust the figures.
func (m *Model) caveats() (lines []string) {
	t := m.env.Theme
	for _, line := range m.result.missing {
		lines = append(lines, t.Warn.Paint(t.Glyphs.Warn+" "+layout.Clean(line)))
	}
	notes := m.shared(m.result.table.Notes())
	// What makes figures wrong comes before what makes them few.
	slices.SortStableFunc(notes, func(a, b string) int { return weight(a) - weight(b) })
	for _, line := range notes {
		style := t.Dim
		if weight(line) == 0 {
			style = t.Warn
		}
		lines = append(lines, style.Paint(layout.Clean(line)))
	}
	return lines
}

// weight orders the notes: runs that slowed each other or whose times are not this machine's, runs that cannot be compared, the rest, and last what is about the loss alone.
func weight(note string) int {
	switch {
	case strings.HasPrefix(note, "!"), strings.HasPrefix(note, experiment.EmulatedDevice), strings.HasPrefix(note, experiment.EmulatedLink):
		return 0
	case strings.HasPrefix(note, "≠ The loss"):
		return 3
	case strings.HasPrefix(note, "≠"):
		return 1
	}
	return 2
}

// shared gives runs their short names and joins what is said of several runs
// in the same words.
func (m *Model) shared(notes []string) (lines []string) {
	at := map[string]int{} // by what is said
	for _, line := range notes {
		said := ""
		for _, r := range m.result.table.Rows {
			if rest, ok := strings.CutPrefix(line, r.ID+" is short"); ok {
				said = rest
				line = m.label(r.ID)
			}
			line = strings.ReplaceAll(line, r.ID, m.label(r.ID))
		}
		if said == "" {
			lines = append(lines, line)
			continue
		}
		if i, ok := at[said]; ok {
			first, _, _ := strings.Cut(strings.Replace(lines[i], " is short", " are short", 1), " are short")
			lines[i] = first + ", " + line + " are short" + said
			continue
		}
		at[said] = len(lines)
		lines = append(lines, line+" is short"+said)
	}
	return lines
}

// drawTable frames the table with its notes.
func (m *Model) drawTable(w, h int) string {
	iw, ih := panel.Inner(w, h)
	notes := m.notes(max(1, min(4+len(m.markNotes()), ih-1-len(m.result.table.Rows))))
	body := layout.Stack(m.table.View(m.env.Theme, iw, max(2, ih-len(notes)), m.focus == paneTable), strings.Join(notes, "\n"))
	title := "Schemes side by side   median step, mean tok/s, warm-up left out   " + m.origin()
	switch {
	case w < 70:
		title = "Schemes  " + m.origin()
	case w < 100:
		title = "Schemes  median ms  " + m.origin()
	case w < 150:
		title = "Schemes side by side   medians, mean tok/s   " + m.origin()
	}
	return panel.Panel{Title: title, Note: m.tableNote(iw), Focused: m.focus == paneTable}.View(m.env.Theme, body, w, h)
}

// tableNote says how the rows are ordered and that there are more columns.
func (m *Model) tableNote(w int) string {
	var b []string
	if m.sort > 0 {
		b = append(b, "sort: "+sorts[m.sort].name)
	}
	if n := m.table.Sheets(w); n > 1 {
		b = append(b, fmt.Sprintf("%s more columns (%d of %d)", keys.Display("right"), min(m.table.Sheet, n-1)+1, n))
	}
	return strings.Join(b, "  ")
}

// tableHeight is what the table needs of h lines.
func (m *Model) tableHeight(h, notes int) int {
	notes += len(m.markNotes()) // which need a line each
	need := 2 + 1 + len(m.result.table.Rows) + min(notes, len(m.notes(notes)))
	return layout.Clamp(need, 5, max(5, h/2))
}

// scale is the longest of the mean steps, in seconds.
func (m *Model) scale() float64 {
	full := 0.0
	for i := range m.result.table.Rows {
		full = max(full, partsOf(&m.result.table.Rows[i]).Sum())
	}
	return full
}

func millisRange(full float64) string { return "0–" + format.Millis(full) + " ms" }
