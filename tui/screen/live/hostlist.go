package live

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"boost-tui/internal/filter"
	"boost-tui/runner"
	"boost-tui/tui/format"
	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/widget/input"
	"boost-tui/tui/widget/table"

	tea "github.com/charmbracelet/bubbletea"
)

// hostList is how a run of several hosts is looked at: a line for each host, below it, where it is open, one for each of
// its ranks.
type hostList struct {
	table  table.Table
	flat   bool            // all ranks, page by page, in its place
	opened map[string]bool // hosts that were opened or closed by hand
	sortBy int             // index into hostOrders
	text   string          // of the filter in force
	query  filter.Query
	fault  string      // of the filter being typed
	line   *input.Line // open while a filter is typed
	before string      // text to restore on esc
	shown  int         // hosts that pass the filter
}

// openLines is up to how many lines all hosts are shown with their ranks unless they are closed by hand.
const openLines = 10

// hostOrders are what hosts can be ordered by. The first is the order of their ranks.
var hostOrders = []struct {
	name, column string
	compare      func(a, b *hostStat) int
}{
	{"ranks", "ranks", compareHosts},
	{"slowest", "late", func(a, b *hostStat) int {
		return cmp.Or(cmp.Compare(a.step, b.step), descending(a.late, b.late))
	}},
	{"silent", "beat", func(a, b *hostStat) int { return cmp.Compare(b.silence(), a.silence()) }},
	{"cpu", "cpu", func(a, b *hostStat) int { return descending(a.busy, b.busy) }},
	{"name", "host", func(a, b *hostStat) int { return strings.Compare(a.name, b.name) }},
}

// silence orders hosts that nothing was ever heard of before all others.
func (h *hostStat) silence() time.Duration {
	if !h.seen {
		return math.MaxInt64
	}
	return h.silent.Truncate(time.Second)
}

// descending puts what is unknown last.
func descending(a, b float64) int {
	switch aKnown, bKnown := !math.IsNaN(a), !math.IsNaN(b); {
	case aKnown != bKnown:
		if aKnown {
			return -1
		}
		return 1
	case !aKnown:
		return 0
	}
	return cmp.Compare(b, a)
}

// hostFields are what a filter can ask of a host.
var hostFields = filter.Fields{Names: []string{"host", "rank", "cpu", "gpu", "work", "wait", "late", "silent", "step", "state"}}

// hostRow is a host as a filter sees it.
type hostRow struct {
	*hostStat
	state string
}

// Field implements filter.Record: shares in percent, late in milliseconds, silent in seconds.
func (h hostRow) Field(name string) (filter.Value, bool) {
	number := func(v float64) (filter.Value, bool) {
		if math.IsNaN(v) {
			return filter.Value{}, true
		}
		return filter.Number(v), true
	}
	switch name {
	case "host":
		return filter.Text(h.name), true
	case "rank":
		var ranks []string
		for _, r := range h.ranks {
			ranks = append(ranks, fmt.Sprint(r))
		}
		return filter.Text(strings.Join(ranks, " ")), true
	case "cpu":
		return number(h.busy * 100)
	case "gpu":
		return number(h.gpu * 100)
	case "work":
		return number(h.work * 100)
	case "wait":
		return number(h.wait * 100)
	case "late":
		return number(h.late * 1000)
	case "silent":
		return number(h.silent.Seconds())
	case "step":
		return number(float64(h.step))
	case "state":
		return filter.Text(h.state), true
	}
	return filter.Value{}, false
}

// Words implements filter.Record.
func (h hostRow) Words() string { return h.name + " " + h.state }

// byHost reports whether the list of hosts is shown.
func (m *Model) byHost() bool {
	return !m.hosts.flat && (len(m.run.Run.Hosts) > 1 || len(m.shown().hosts) > 1)
}

// open reports whether a host is shown with its ranks.
func (m *Model) hostOpen(name string) bool {
	if open, ok := m.hosts.opened[name]; ok {
		return open
	}
	return len(m.shown().hosts)+m.world() <= openLines
}

// listHosts makes the rows of the list anew.
func (m *Model) listHosts() {
	if !m.byHost() {
		return
	}
	l, s := &m.hosts, m.shown()
	var hosts []*hostStat
	for i := range s.hosts {
		h := &s.hosts[i]
		if state, _ := m.hostState(h); l.query.Match(hostRow{h, state}) {
			hosts = append(hosts, h)
		}
	}
	l.shown = len(hosts)
	order := hostOrders[l.sortBy]
	slices.SortStableFunc(hosts, order.compare)
	l.table.Sort, l.table.Down = order.column, l.sortBy > 0 && order.name != "name"
	rows := make([]table.Row, 0, len(hosts))
	for _, h := range hosts {
		rows = append(rows, m.hostLine(h))
		if !m.hostOpen(h.name) {
			continue
		}
		for _, r := range h.ranks {
			if r < len(s.ranks) {
				rows = append(rows, m.rankRow(&s.ranks[r]))
			}
		}
	}
	l.table.SetRows(rows)
	switch {
	case len(s.hosts) == 0:
		l.table.Empty = "nothing has been heard of the hosts yet"
	case len(hosts) == 0:
		l.table.Empty = "no host passes the filter; esc clears it"
	}
}

// toggleHosts goes to the list of hosts; from there to that of all ranks, and back.
func (m *Model) toggleHosts(string) tea.Cmd {
	if m.focus == paneRanks && (m.byHost() || m.hosts.flat) {
		m.hosts.flat = !m.hosts.flat
	}
	m.focus = paneRanks
	return nil
}

// sortHosts orders the hosts by another of their figures.
func (m *Model) sortHosts(string) tea.Cmd {
	if m.byHost() {
		m.focus = paneRanks
		m.hosts.sortBy = (m.hosts.sortBy + 1) % len(hostOrders)
		m.listHosts()
		m.hosts.table.Move(-1 << 30)
	}
	return nil
}

// enterHost opens or closes the host under the cursor; of a rank it shows the log.
func (m *Model) enterHost() tea.Cmd {
	kind, name, ok := strings.Cut(m.hosts.table.Cursor(), ":")
	if !ok {
		return nil
	}
	if kind == rowHost {
		if m.hosts.opened == nil {
			m.hosts.opened = map[string]bool{}
		}
		m.hosts.opened[name] = !m.hostOpen(name)
		return nil
	}
	rank := 0
	if _, err := fmt.Sscan(name, &rank); err != nil {
		return nil
	}
	m.focusLog()
	if rank == m.logRank {
		return nil
	}
	m.logRank = rank
	m.startLog()
	return m.readLog()
}

// openHostFilter starts typing a filter; the list follows each key.
func (m *Model) openHostFilter() {
	line := input.New(m.hosts.text)
	m.hosts.line, m.hosts.before = &line, m.hosts.text
}

// hostFilterKey edits the filter. Esc restores the one before.
func (m *Model) hostFilterKey(e keys.Event) {
	l := &m.hosts
	switch e.Name {
	case "esc":
		l.line = nil
		m.setHostFilter(l.before)
	case "enter":
		if l.fault == "" {
			l.line = nil
		}
	case "up", "down":
		l.table.Move(map[string]int{"up": -1, "down": 1}[e.Name])
	default:
		line, edited, _ := l.line.Update(e)
		l.line = &line
		if edited {
			m.setHostFilter(line.Text())
		}
	}
}

func (m *Model) setHostFilter(text string) {
	query, err := filter.Parse(text, hostFields)
	m.hosts.text, m.hosts.query, m.hosts.fault = text, query, ""
	if err != nil {
		m.hosts.fault = layout.Clean(err.Error())
	}
}

// quietAfter is from how much silence on a host is worth a word: it writes a sample each second, which network file
// systems show some seconds later.
const quietAfter = 5 * time.Second

// timeout is how long a host of the run may be silent before it counts as lost.
func (m *Model) timeout() time.Duration {
	if s := m.run.Run.Experiment.Where.HeartbeatTimeout; s > 0 {
		return time.Duration(s) * time.Second
	}
	return runner.StaleAfter
}

// beat is a host's sign of life in a few words, of a run that goes on.
func (m *Model) beat(h *hostStat) (text string, level int) {
	switch old := h.silent.Truncate(time.Second); {
	case !h.seen:
		return "not heard of", 0
	case old >= m.timeout():
		return "silent for " + format.Duration(old), 2
	case old >= quietAfter:
		return "silent for " + format.Duration(old), 1
	case old >= time.Second:
		return format.Duration(old) + " ago", 0
	}
	return "now", 0
}
