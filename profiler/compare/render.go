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
	g := grid{title: "Speed", left: 2, head: []string{"variant", "scheme", "n", "step ms", "95 % interval", "p95", "tok/s", "vs full-rank", "vs vanilla", "loss"}}
	named := t.ambiguous()
	if named {
		g.head = append(g.head, "run")
	}
	for i := range t.Rows {
		r := &t.Rows[i]
		mark := ""
		if !r.Comparable {
			mark = "≠ "
		}
		g.rows = append(g.rows, []string{plain(r.Variant), plain(r.Scheme), strconv.Itoa(r.Kept), millis(r.StepTimeMedian), interval(r.CI, 1e3),
			millis(r.StepTimeP95), rate(r.TokensPerSecond), mark + r.VsFull.String(), mark + r.VsVanilla.String(),
			decimal(r.LossLast, 4)})
		if named {
			g.rows[i] = append(g.rows[i], plain(r.ID))
		}
	}
	return g
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
		head: []string{"variant", "scheme", "step", "compute", "exposed", "memory", "idle", "comm", "wait", "transfer", "overlap", "comm MB", "calls", "peak MiB"}}
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
		g.rows = append(g.rows, []string{plain(r.Variant), plain(r.Scheme), millis(step), millis(b.Compute), millis(b.CommExposed), millis(b.Memory),
			millis(b.Idle), millis(b.Comm), millis(b.CommWait), millis(b.CommTransfer), millis(b.Overlap),
			scaled(r.CommBytesPerStep, 1e6, 2), scaled(r.CommCallsPerStep, 1, 0), scaled(r.PeakMemory, 1<<20, 1)})
	}
	return g
}

// Notes say what a reader must know to trust the figures, one sentence each.
func (t Table) Notes() []string {
	var notes []string
	if t.Baseline == "" {
		notes = append(notes, "No full-rank run among these: no speed-up against full-rank.")
	}
	few := false
	for i := range t.Rows {
		r := &t.Rows[i]
		name := plain(r.ID)
		if r.ClaimedID != "" {
			notes = append(notes, fmt.Sprintf("%s says in its run.json that it is %s.", name, plain(r.ClaimedID)))
		}
		switch {
		case r.Short && r.Kept > 0:
			notes = append(notes, fmt.Sprintf("%s is short (%d of %d steps kept): figures without a verdict.", name, r.Kept, r.Steps))
		case r.Kept > 0 && r.Kept < stats.VerdictSteps:
			notes = append(notes, fmt.Sprintf("%s has %d kept steps, fewer than %d: figures without a verdict.", name, r.Kept, stats.VerdictSteps))
		case r.Kept > 0 && r.Kept < stats.RecommendedSteps:
			few = true
		case r.Kept == 0:
			notes = append(notes, fmt.Sprintf("%s has no complete step.", name))
		}
		if !r.Comparable {
			var d []string
			for _, x := range r.Differences {
				for _, n := range r.Differs {
					if n == x.Name {
						d = append(d, fmt.Sprintf("%s %s instead of %s", n, short(x.Run), short(x.Base)))
					}
				}
			}
			notes = append(notes, fmt.Sprintf("≠ %s is not comparable: %s.", name, strings.Join(d, ", ")))
		}
		if r.UnreadableLines > 0 {
			notes = append(notes, fmt.Sprintf("%s has %d lines that could not be read.", name, r.UnreadableLines))
		}
	}
	if few {
		notes = append(notes, fmt.Sprintf("Fewer than %d steps: intervals are somewhat too narrow.", stats.RecommendedSteps))
	}
	for i := range t.Rows {
		if v := t.Rows[i].VsFull; v != nil && v.Verdict == "~" {
			return append(notes, "~ is no significant difference.")
		}
		if v := t.Rows[i].VsVanilla; v != nil && v.Verdict == "~" {
			return append(notes, "~ is no significant difference.")
		}
	}
	return notes
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

// CSV is compare.csv (PROFILING.md §7): one row per pair. Unknown is empty.
func (t Table) CSV() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	rows := [][]string{{"baseline", "candidate", "metric", "base_median", "cand_median", "ratio", "ci_lo", "ci_hi", "p", "n_base", "n_cand",
		"skip_base", "skip_cand", "block", "plan_diff"}}
	for _, p := range t.pairs {
		var diff []string
		for _, d := range p.diff {
			diff = append(diff, fmt.Sprintf("%s=%s→%s", d.Name, d.Base, d.Run))
		}
		rows = append(rows, []string{p.base.run.ID, p.cand.run.ID, "step_time_s", float(p.base.median.Value), float(p.cand.median.Value),
			float(p.speed.Value), float(p.speed.Lo), float(p.speed.Hi), float(p.p), strconv.Itoa(len(p.base.m.kept)), strconv.Itoa(len(p.cand.m.kept)),
			strconv.Itoa(p.base.m.skip.Steps), strconv.Itoa(p.cand.m.skip.Steps), strconv.Itoa(stats.BlockLength(len(p.cand.m.kept))),
			strings.Join(diff, ";")})
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
