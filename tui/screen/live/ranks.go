package live

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"boost-tui/runner"
	"boost-tui/runner/protocol"
	"boost-tui/tui/chart"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/panel"
)

// percent writes a share; what is not known is N/A, never 0.
func percent(v float64) string {
	if !chart.Finite(v) {
		return "N/A"
	}
	return strconv.FormatFloat(math.Round(v*100), 'f', 0, 64)
}

// drawRanks lists a page of ranks: how busy each is, which share of the step
// it computes and which it communicates.
func (m *Model) drawRanks(w, h int, wide bool) string {
	if m.byHost() {
		return m.drawHosts(w, h, wide)
	}
	iw, ih := panel.Inner(w, h)
	s := m.shown()
	ranks := s.ranks
	page := ranks[min(len(ranks), m.page*pageRanks):min(len(ranks), (m.page+1)*pageRanks)]
	notes := m.notes(iw, wide)
	room := max(1, ih-1-len(notes))
	form := rankForm{wide: wide, gpus: gpus(page)}
	form.places = wide && m.places() && m.barRoom(page, iw, rankForm{wide, form.gpus, true}) >= leastBar
	bar := layout.Clamp(m.barRoom(page, iw, form), form.least(), form.most())
	lines := []string{m.env.Theme.Dim.Paint(rankHeading(bar, form))}
	for i, r := range page {
		if i == room {
			break
		}
		lines = append(lines, m.rankLine(r, bar, form))
	}
	title := format.Many(m.world(), "rank")
	if n := reporting(ranks); n < m.world() && len(ranks) <= followRanks {
		title = fmt.Sprintf("of %s %d report", format.Many(m.world(), "rank"), n)
	}
	note := m.age(s.healthNanos, s.healthSeen, 1)
	if len(ranks) > pageRanks {
		note = strings.TrimSpace(fmt.Sprintf("page %d of %d (n N)  %s", m.page+1, (len(ranks)-1)/pageRanks+1, note))
	}
	for _, meaning := range []string{"   busy = CPU or GPU time, spinning counts   work = compute share of the step   comm, wait: hidden too", "   busy = CPU or GPU time, spinning counts   work = compute share of the step", "  busy: spins count  work: compute share"} {
		if layout.Width(title+meaning+note) < w-12 {
			title += meaning
			break
		}
	}
	return m.frame(paneRanks, title, note, strings.Join(append(lines, notes...), "\n"), w, h)
}

func healthNanos(ranks []rankStat) int64 {
	newest := int64(-1)
	for i := range ranks {
		newest = max(newest, ranks[i].seenNanos)
	}
	return newest
}

// reporting counts the ranks that have written a step.
func reporting(ranks []rankStat) (n int) {
	for i := range ranks {
		if ranks[i].last >= 0 {
			n++
		}
	}
	return n
}

// gpus reports whether any rank of a page runs on a GPU.
func gpus(page []rankStat) bool {
	for i := range page {
		if page[i].gpu >= 0 {
			return true
		}
	}
	return false
}

// rankForm is which columns the ranks' lines have.
type rankForm struct {
	wide, gpus bool
	places     bool // the stage and the replica of each rank
}

// leastBar is how narrow a bar may become in wide lines.
const leastBar = 6

func (f rankForm) least() int {
	if f.wide {
		return leastBar
	}
	return 3
}

func (f rankForm) most() int {
	if f.wide {
		return 30
	}
	return 14
}

// places reports whether ranks are told apart by their stage or their replica.
func (m *Model) places() bool {
	p := m.run.Run.Experiment.Parallel
	return p.PP > 1 || p.DP > 1
}

// barRoom is the room of one of the two bars of a rank's line: what the
// figures and the longest state leave.
func (m *Model) barRoom(page []rankStat, w int, f rankForm) int {
	state := 0
	for _, r := range page {
		state = max(state, layout.Width(m.rankState(r)))
	}
	return (w - (layout.Width(rankHeading(0, f)) - len("state")) - state) / 2
}

func rankHeading(bar int, f rankForm) string {
	if f.wide {
		head := "rank  "
		if f.places {
			head += "stage  replica  "
		}
		head += fmt.Sprintf("%-10s %s  %s  %10s  %6s  %-10s", "host", layout.Pad("busy %", bar+4), layout.Pad("work %", bar+4), "all comm %", "wait %", "memory")
		if f.gpus {
			head += "  power  temp"
		}
		return head + "  state"
	}
	return fmt.Sprintf("rk %s %s %9s %5s  %-8s state", layout.Pad("busy %", bar+4), layout.Pad("work %", bar+4), "all comm%", "wait%", "memory")
}

// place is the stage and the replica of a rank, counted from 1 as in "1/4".
func (m *Model) place(rank int) string {
	p := m.run.Run.Experiment.Parallel
	stage, replica := p.Place(rank)
	return fmt.Sprintf("%5s  %7s  ", fmt.Sprintf("%d/%d", stage+1, max(p.PP, 1)), fmt.Sprintf("%d/%d", replica+1, max(p.DP, 1)))
}

func (m *Model) rankLine(r rankStat, bar int, f rankForm) string {
	t := m.env.Theme
	gauge := func(style theme.Style, v float64) string {
		return chart.Bar(t, style, v, 1, bar, true) + layout.PadLeft(percent(v), 4)
	}
	state := m.rankState(r)
	memory := format.Unknown
	if r.memBytes >= 0 {
		memory = format.Bytes(r.memBytes)
	}
	if !f.wide {
		return fmt.Sprintf("%2d %s %s %9s %5s  %s %s", r.rank, gauge(t.Text, r.busy), gauge(t.Compute, r.work), percent(r.comm), percent(r.wait), layout.Pad(memory, 8), state)
	}
	place := ""
	if f.places {
		place = m.place(r.rank)
	}
	line := fmt.Sprintf("%4d  %s%s %s  %s  %10s  %6s  %s", r.rank, place, layout.Pad(layout.Clean(r.host), 10), gauge(t.Text, r.busy), gauge(t.Compute, r.work),
		percent(r.comm), percent(r.wait), layout.Pad(memory, 10))
	if r.gpu >= 0 {
		line += fmt.Sprintf("  %s  %s", unit(r.powerW, "W"), unit(float64(r.tempC), "C"))
	}
	return line + "  " + state
}

func unit(v float64, name string) string {
	if !chart.Finite(v) || v < 0 {
		return "  N/A"
	}
	return layout.PadLeft(strconv.FormatFloat(v, 'f', 0, 64)+" "+name, 5)
}

// rankState is what a rank does, or how it ended, and whether the others wait
// for it: of a run that failed, the way its ranks ended is what matters.
func (m *Model) rankState(r rankStat) string {
	text, style := m.rankEnd(r)
	state := style.Paint(text)
	if m.slowRank(r.rank) {
		state += " " + m.env.Theme.Warn.Paint("<slow")
	}
	return state
}

// slowRank reports whether the others wait for a rank of a run of which that is worth a word.
func (m *Model) slowRank(rank int) bool {
	return m.shown().slow.slow(rank) && m.run.State != runner.Failed
}

// endedInOrder reports whether a rank of a run that somebody ended left as it was asked to.
func (m *Model) endedInOrder(e runner.RankExit) bool {
	return m.run.State == runner.Cancelled && e.Signal == "" && e.Code == protocol.CodeCancelled
}

// rankEnd is what a rank does or how it ended, and in which style that is written.
func (m *Model) rankEnd(r rankStat) (string, theme.Style) {
	t := m.env.Theme
	if m.run.Result != nil {
		for _, e := range m.run.Result.Ranks {
			switch {
			case e.Rank != r.rank:
			case m.endedInOrder(e):
				return t.Glyphs.Cancelled + " cancelled", t.Warn
			case e.Signal != "":
				return t.Glyphs.Cross + " " + layout.Clean(e.Signal), t.Bad
			case e.Code != 0:
				return t.Glyphs.Cross + " exit " + strconv.Itoa(e.Code), t.Bad
			default:
				return t.Glyphs.Check + " done", t.Good
			}
		}
	}
	if r.last >= 0 {
		return "step " + strconv.FormatInt(r.last, 10), theme.Style{}
	}
	switch m.run.State {
	case runner.Pending:
		return "waiting", t.Dim
	case runner.Running:
		return "starting", t.Dim
	}
	return "", theme.Style{}
}
