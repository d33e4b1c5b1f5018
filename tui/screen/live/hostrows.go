package live

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"boost-tui/runner"
	"boost-tui/tui/chart"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/panel"
	"boost-tui/tui/widget/table"
)

// Kinds of rows, as their ids begin.
const (
	rowHost = "host"
	rowRank = "rank"
)

// gaugeWidth is the room of a bar beside a share, where there is room.
const gaugeWidth = 8

// hostColumns are the list's columns for w cells. Drop orders what goes first in a narrow terminal.
func hostColumns(w int, gpus bool) []table.Column {
	share := 5
	if w >= 104 {
		share += gaugeWidth + 1
	}
	all := []table.Column{
		{ID: "host", Title: "host, rank", Width: 12, Flex: 1}, {ID: "ranks", Title: "ranks", Width: 7, Drop: 5},
		{ID: "cpu", Title: "cpu %", Width: share, Right: true, Drop: 2}, {ID: "gpu", Title: "gpu %", Width: 5, Right: true, Drop: 2},
		{ID: "work", Title: "work %", Width: share + 1, Right: true, Drop: 4}, {ID: "wait", Title: "wait %", Width: 6, Right: true, Drop: 6},
		{ID: "late", Title: "late ms", Width: 7, Right: true}, {ID: "memory", Title: "memory", Width: 8, Right: true, Drop: 3},
		{ID: "net", Title: "out, in per s", Width: 19, Right: true, Drop: 7}, {ID: "step", Title: "step", Width: 6, Right: true},
		{ID: "beat", Title: "sign of life", Width: 14, Flex: 2},
	}
	if !gpus {
		all = slices.DeleteFunc(all, func(c table.Column) bool { return c.ID == "gpu" })
	}
	return all
}

// share writes a share in percent, with a bar where the column has room for it.
func (m *Model) share(v float64, wide bool) string {
	text := layout.PadLeft(percent(v), 4)
	if !wide || !chart.Finite(v) {
		return text
	}
	g := m.env.Theme.Glyphs
	full := layout.Clamp(int(v*gaugeWidth+0.5), 0, gaugeWidth)
	return strings.Repeat(g.Full, full) + strings.Repeat(g.Empty, gaugeWidth-full) + text
}

// cells orders cells by the columns that there are.
func (m *Model) cells(by map[string]table.Cell) []table.Cell {
	out := make([]table.Cell, len(m.hosts.table.Columns))
	for i, c := range m.hosts.table.Columns {
		out[i] = by[c.ID]
	}
	return out
}

// hostWide reports whether shares have bars.
func (m *Model) hostWide() bool {
	return slices.ContainsFunc(m.hosts.table.Columns, func(c table.Column) bool { return c.ID == "cpu" && c.Width > gaugeWidth })
}

// hostLine is the row of a host.
func (m *Model) hostLine(h *hostStat) table.Row {
	t, wide := m.env.Theme, m.hostWide()
	sign := t.Glyphs.Right
	if m.hostOpen(h.name) {
		sign = t.Glyphs.Down
	}
	memory, net := format.Unknown, ""
	if h.memUsed >= 0 {
		memory = format.Bytes(h.memUsed)
	}
	if chart.Finite(h.tx) && chart.Finite(h.rx) {
		net = format.Bytes(int64(h.tx)) + ", " + format.Bytes(int64(h.rx))
	}
	late := format.Unknown
	if chart.Finite(h.late) {
		late = format.Millis(h.late)
	}
	step, style := format.Unknown, theme.Style{}
	if h.step >= 0 {
		step = strconv.FormatInt(h.step, 10)
		if behind := m.shown().newest.Step - h.step; behind > 1 { // one is what reads of two files can differ by
			style = t.Warn
		}
	}
	state, stateStyle := m.hostState(h)
	return table.Row{ID: rowHost + ":" + h.name, Sign: sign, Cells: m.cells(map[string]table.Cell{
		"host": {Text: layout.Clean(h.name)}, "ranks": {Text: rankRange(h.ranks)}, "cpu": {Text: m.share(h.busy, wide)}, "gpu": {Text: percent(h.gpu)},
		"work": {Text: m.share(h.work, wide)}, "wait": {Text: percent(h.wait)}, "late": {Text: late}, "memory": {Text: memory},
		"net": {Text: net}, "step": {Text: step, Style: style}, "beat": {Text: state, Style: stateStyle}})}
}

// rankRow is the row of a rank below its host.
func (m *Model) rankRow(r *rankStat) table.Row {
	wide := m.hostWide()
	memory := format.Unknown
	if r.memBytes >= 0 {
		memory = format.Bytes(r.memBytes)
	}
	cpu, gpu := m.share(r.busy, wide), ""
	if r.gpu >= 0 {
		cpu, gpu = "", percent(r.busy)
	}
	state, style := m.rankEnd(*r)
	step := format.Unknown
	if r.last >= 0 {
		step = strconv.FormatInt(r.last, 10)
	}
	if strings.HasPrefix(state, "step ") { // it stands beside
		state = ""
	}
	if m.slowRank(r.rank) {
		state, style = strings.TrimSpace(state+" <slow"), m.env.Theme.Warn
	}
	return table.Row{ID: rowRank + ":" + strconv.Itoa(r.rank), Style: m.env.Theme.Dim, Cells: m.cells(map[string]table.Cell{
		"host": {Text: "  rank " + strconv.Itoa(r.rank)}, "cpu": {Text: cpu}, "gpu": {Text: gpu}, "work": {Text: m.share(r.work, wide)},
		"wait": {Text: percent(r.wait)}, "memory": {Text: memory}, "step": {Text: step}, "beat": {Text: state, Style: style}})}
}

// rankRange writes ranks that follow each other as a range.
func rankRange(ranks []int) string {
	switch n := len(ranks); {
	case n == 0:
		return ""
	case n == 1:
		return strconv.Itoa(ranks[0])
	case ranks[n-1]-ranks[0] == n-1:
		return fmt.Sprintf("%d-%d", ranks[0], ranks[n-1])
	}
	return fmt.Sprintf("%d, …", ranks[0])
}

// hostState is a host's sign of life, or what became of it.
func (m *Model) hostState(h *hostStat) (string, theme.Style) {
	t := m.env.Theme
	if m.run.State.Over() {
		return m.hostEnd(h)
	}
	if m.run.State == runner.Pending {
		return "waiting", t.Dim
	}
	text, level := m.beat(h)
	style := t.Dim
	switch level {
	case 1:
		text, style = t.Glyphs.Warn+" "+text, t.Warn
	case 2:
		text, style = t.Glyphs.Cross+" "+text, t.Bad
	}
	if c := h.clock; level == 0 && c != nil && c.Abs() >= clockApart {
		text, style = fmt.Sprintf("%s, clock %+.0f s", text, c.Seconds()), t.Warn
	}
	if slow := m.slowHost(); level == 0 && slow != nil && slow.name == h.name {
		text, style = text+" <slow", t.Warn
	}
	return text, style
}

// clockApart is from how much on a host's clock is worth a word: times in its logs are off by that.
const clockApart = 2 * time.Second

// hostEnd is how a host of a run that is over fared: whether the run's cause names it, else how its ranks ended.
func (m *Model) hostEnd(h *hostStat) (string, theme.Style) {
	t := m.env.Theme
	if r := m.run.Result; r != nil && slices.Contains(r.Lost, h.name) {
		return t.Glyphs.Cross + " lost", t.Bad
	}
	if m.run.State != runner.Finished && blames(m.run.Cause, h.name) {
		return t.Glyphs.Cross + " the cause", t.Bad
	}
	bad, known, cancelled := 0, 0, 0
	if m.run.Result != nil {
		for _, e := range m.run.Result.Ranks {
			if !slices.Contains(h.ranks, e.Rank) {
				continue
			}
			known++
			switch {
			case m.endedInOrder(e):
				cancelled++
			case e.Code != 0 || e.Signal != "":
				bad++
			}
		}
	}
	switch {
	case known == 0:
		return "", t.Dim
	case bad > 0 && len(m.run.Result.Lost) > 0: // what ended here ended for another host
		return "ended with it", t.Dim
	case bad > 0:
		return fmt.Sprintf("%s %d of %d ended badly", t.Glyphs.Cross, bad, len(h.ranks)), t.Bad
	case cancelled > 0:
		return t.Glyphs.Cancelled + " cancelled", t.Warn
	}
	return t.Glyphs.Check + " done", t.Good
}

// slowHost is the host that the others wait for again and again, as ranks are judged; its ranks are late together, which
// hides them from the rule for single ranks. nil: none.
func (m *Model) slowHost() *hostStat {
	s := m.shown()
	if at := s.slowHost.rank; at >= 0 && at < len(s.hosts) {
		return &s.hosts[at]
	}
	return nil
}

// slowHostLine says which host the others wait for, else what is known of slow ranks.
func (m *Model) slowHostLine(w int) string {
	h, t, slow := m.slowHost(), m.env.Theme, &m.shown().slowHost
	if h == nil || m.run.State == runner.Failed {
		return m.stragglerLine(w, w > 100)
	}
	text := fmt.Sprintf("%s is late: it waits %.1f %% of a %s ms step, the others %.1f %%: %s ms less", layout.Clean(h.name), slow.own*100, format.Millis(slow.step),
		slow.others*100, format.Millis((slow.others-slow.own)*slow.step))
	if w > 100 {
		text += fmt.Sprintf(", in %d of %s of %d steps", slow.late, format.Many(slow.windows, "window"), lateSteps)
	}
	return t.Warn.Paint(layout.Cut(text, w, t.Glyphs.Ellipsis))
}

// blames reports whether a cause names a host as a word of its own.
func blames(cause, host string) bool {
	if host == "" {
		return false
	}
	for rest := cause; ; {
		at := strings.Index(rest, host)
		if at < 0 {
			return false
		}
		end := at + len(host)
		if (at == 0 || !nameByte(rest[at-1])) && (end == len(rest) || !nameByte(rest[end]) || rest[end] == '.' && (end+1 == len(rest) || !nameByte(rest[end+1]))) {
			return true
		}
		rest = rest[at+1:]
	}
}

func nameByte(c byte) bool {
	return c == '-' || c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// drawHosts is the pane of hosts.
func (m *Model) drawHosts(w, h int, wide bool) string {
	iw, ih := panel.Inner(w, h)
	s := m.shown()
	m.hosts.table.Columns = hostColumns(iw, slices.ContainsFunc(s.ranks, func(r rankStat) bool { return r.gpu >= 0 }))
	m.listHosts()
	notes := m.notes(iw, false)
	if m.hosts.line != nil {
		notes = []string{m.hostFilterLine(iw)}
	}
	notes = notes[:min(len(notes), max(0, ih-2))]
	title := format.Many(max(len(s.hosts), len(m.run.Run.Hosts)), "host")
	if m.hosts.text != "" {
		title = fmt.Sprintf("%d of %s", m.hosts.shown, format.Many(len(s.hosts), "host"))
	}
	title += "  " + format.Many(m.world(), "rank")
	note := "sort: " + hostOrders[m.hosts.sortBy].name
	if m.hosts.text != "" && m.hosts.line == nil {
		note = "/" + layout.Cut(layout.Clean(m.hosts.text), 24, m.env.Theme.Glyphs.Ellipsis) + "  " + note
	}
	if room := ih - 1 - len(notes); m.hosts.table.Len() > room {
		note += fmt.Sprintf("  %s%s %s", m.env.Theme.Glyphs.Up, m.env.Theme.Glyphs.Down, format.Many(m.hosts.table.Len(), "line"))
	}
	for _, meaning := range []string{"   late = reaches collectives so much later in a step than the host that is there first", "   late: than the first host, per step"} {
		if layout.Width(title+meaning+note) < w-12 {
			title += meaning
			break
		}
	}
	body := m.hosts.table.View(m.env.Theme, iw, max(1, ih-len(notes)), m.focus == paneRanks)
	return m.frame(paneRanks, title, note, strings.Join(append([]string{body}, notes...), "\n"), w, h)
}

// hostFilterLine is the filter while it is typed.
func (m *Model) hostFilterLine(w int) string {
	t := m.env.Theme
	text := "/" + m.hosts.line.View(t, max(8, min(40, w/2))) + fmt.Sprintf("  %d of %s", m.hosts.shown, format.Many(len(m.shown().hosts), "host"))
	if m.hosts.fault != "" {
		text += "  " + t.Bad.Paint(m.hosts.fault)
	}
	return layout.Cut(text, w, t.Glyphs.Ellipsis)
}
