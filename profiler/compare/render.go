package compare

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"strconv"
	"strings"

	"boost-tui/profiler/stats"
)

// grid is a table of cells before it is set in columns, or as markdown.
type grid struct {
	title string
	head  []string
	left  int // columns that are set flush left; the others flush right
	rows  [][]string
}

// Text is the table as plain text: speeds first, then where a mean step goes, then what to know.
func (t Table) Text() string {
	var b strings.Builder
	for _, g := range []grid{t.speeds(), t.parts()} {
		g.text(&b)
		b.WriteByte('\n')
	}
	for _, n := range t.Notes() {
		b.WriteString(n)
		b.WriteByte('\n')
	}
	return b.String()
}

// Markdown is the same as tables of a README or an issue.
func (t Table) Markdown() string {
	var b strings.Builder
	for _, g := range []grid{t.speeds(), t.parts()} {
		fmt.Fprintf(&b, "%s\n\n", g.title)
		g.markdown(&b)
		b.WriteByte('\n')
	}
	for _, n := range t.Notes() {
		fmt.Fprintf(&b, "- %s\n", n)
	}
	return b.String()
}

// speeds names the runs only where variant and scheme do not tell them apart: ids are long.
func (t Table) speeds() grid {
	g := grid{title: "Speed", left: 2, head: []string{"variant", "scheme", "n", "step ms", "95 % interval", "p95", "tok/s (mean)",
		t.BaselineTitle(), t.VanillaTitle(), "loss"}}
	named := t.ambiguous()
	if named {
		g.head = append(g.head, "run")
	}
	for i := range t.Rows {
		r := &t.Rows[i]
		mark, loss := "", ""
		if len(r.Overlapped) > 0 {
			mark = "! "
		}
		if !r.Comparable {
			mark = "≠ "
		}
		if !r.LossMatches && r.LossLast != nil {
			loss = "≠ "
		}
		g.rows = append(g.rows, []string{plain(r.Variant), r.SchemeText(), strconv.Itoa(r.Kept), millis(r.StepTimeMedian), interval(r.CI, 1e3),
			millis(r.StepTimeP95), rate(r.TokensPerSecond), r.VsFull.marked(mark), r.VsVanilla.marked(mark),
			loss + decimal(r.LossLast, 4)})
		if named {
			g.rows[i] = append(g.rows[i], plain(r.ID))
		}
	}
	return g
}

// BaselineTitle heads the speed-ups over the baseline, by what that is: "vs full-rank", "vs baseline (vanilla)".
func (t Table) BaselineTitle() string {
	if r := t.row(t.Baseline); r != nil && (r.Variant != variantFull || r.Scheme != schemeFullRank) {
		return "vs baseline (" + plain(r.Scheme) + ")"
	}
	return "vs full-rank"
}

// VanillaTitle heads the speed-ups over the second reference: "vs vanilla", "vs reference (btp)".
func (t Table) VanillaTitle() string {
	if r := t.row(t.Vanilla); r != nil && r.Scheme != schemeVanilla {
		return "vs reference (" + plain(r.Scheme) + ")"
	}
	return "vs vanilla"
}

// row of a run; nil: it is not in the table.
func (t Table) row(id string) *Row {
	for i := range t.Rows {
		if id != "" && t.Rows[i].ID == id {
			return &t.Rows[i]
		}
	}
	return nil
}

// ambiguous reports whether two rows have the same variant and scheme.
func (t Table) ambiguous() bool {
	seen := map[[2]string]bool{}
	for i := range t.Rows {
		k := [2]string{t.Rows[i].Variant, t.Rows[i].Scheme}
		if seen[k] {
			return true
		}
		seen[k] = true
	}
	return false
}

func (t Table) parts() grid {
	g := grid{title: "Mean step, ms: compute + exposed + memory + idle; comm = wait + transfer; overlap is part of compute and of comm", left: 2,
		head: []string{"variant", "scheme", "step", "compute", "exposed", "memory", "idle", "comm", "wait", "transfer", "overlap", "comm MiB", "calls", "device MiB"}}
	for i := range t.Rows {
		r := &t.Rows[i]
		b := r.Breakdown
		if b == nil {
			b = &Breakdown{}
		}
		var step *float64
		if b.Compute != nil {
			step = known(*b.Compute + *b.CommExposed + *b.Memory + *b.Idle)
		}
		g.rows = append(g.rows, []string{plain(r.Variant), r.SchemeText(), millis(step), millis(b.Compute), millis(b.CommExposed), millis(b.Memory),
			millis(b.Idle), millis(b.Comm), millis(b.CommWait), millis(b.CommTransfer), millis(b.Overlap),
			scaled(r.CommBytesPerStep, 1<<20, 2), scaled(r.CommCallsPerStep, 1, 0), scaled(r.PeakMemory, 1<<20, 1)})
	}
	return g
}

// short keeps long values, such as the hash of a binary, readable.
func short(s string) string {
	s = plain(s)
	if s == "" {
		return "unknown"
	}
	if r := []rune(s); len(r) > 24 {
		return string(r[:23]) + "…"
	}
	return s
}

// emulated is the device of a run whose times are not the machine's.
func emulated(s Summary) string {
	if s.EmulatedDevice {
		return s.Device
	}
	return ""
}

// CSV is compare.csv (PROFILING.md §7): one row per pair. Unknown is empty.
func (t Table) CSV() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	rows := [][]string{{"baseline", "candidate", "metric", "base_median", "cand_median", "ratio", "ci_lo", "ci_hi", "p", "n_base", "n_cand",
		"skip_base", "skip_cand", "block", "plan_diff", "emulated_link", "emulated_device"}}
	for _, p := range t.pairs {
		var diff []string
		for _, d := range p.diff {
			diff = append(diff, fmt.Sprintf("%s=%s→%s", d.Name, d.Base, d.Run))
		}
		rows = append(rows, []string{p.base.run.ID, p.cand.run.ID, "step_time_s", float(p.base.median.Value), float(p.cand.median.Value),
			float(p.speed.Value), float(p.speed.Lo), float(p.speed.Hi), float(p.p), strconv.Itoa(len(p.base.m.kept)), strconv.Itoa(len(p.cand.m.kept)),
			strconv.Itoa(p.base.m.skip.Steps), strconv.Itoa(p.cand.m.skip.Steps), strconv.Itoa(stats.BlockLength(len(p.cand.m.kept))),
			strings.Join(diff, ";"), p.cand.run.Plan.Link, emulated(p.cand.summary)})
	}
	if err := w.WriteAll(rows); err != nil {
		return nil, fmt.Errorf("compare.csv: %w", err)
	}
	return b.Bytes(), nil
}

func float(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 9, 64)
}

func (g *grid) text(b *strings.Builder) {
	width := make([]int, len(g.head))
	for _, row := range append([][]string{g.head}, g.rows...) {
		for i, c := range row {
			width[i] = max(width[i], len([]rune(c)))
		}
	}
	fmt.Fprintf(b, "%s\n", g.title)
	for _, row := range append([][]string{g.head}, g.rows...) {
		var line strings.Builder
		for i, c := range row {
			pad := strings.Repeat(" ", width[i]-len([]rune(c)))
			if i > 0 {
				line.WriteString("  ")
			}
			if i < g.left || i == len(row)-1 && g.head[i] == "run" {
				line.WriteString(c + pad)
			} else {
				line.WriteString(pad + c)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
}

func (g *grid) markdown(b *strings.Builder) {
	line := func(cells []string) {
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(c, "|", "\\|")
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
	line(g.head)
	rule := make([]string, len(g.head))
	for i := range rule {
		rule[i] = "---:"
		if i < g.left {
			rule[i] = "---"
		}
	}
	line(rule)
	for _, r := range g.rows {
		line(r)
	}
}
