package results

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"

	"boost-tui/sweeps"
	"boost-tui/sweeps/space"
)

func textOf(t testing.TB, table *Table, width int) string {
	t.Helper()
	var b bytes.Buffer
	ok(t, table.Text(&b, width))
	return b.String()
}

// hostile is text of somebody who wants to steer a terminal, break a table, or make a cell a formula.
const hostile = "a|b\\|c\x1b[2J\r\n\"quoted\", \u202e<script> `x` 漢字 *_[l](u)~!&#"

// mixed is a sweep with a row of every kind.
func mixed(t testing.TB) *fake {
	f := usual(t)
	p := f.st.Points
	f.st.Name = hostile
	f.st.Pruned = []space.Pruned{{Point: hostile, Set: []space.Assign{{Key: "tp", Value: "3"}}, Reason: hostile}}
	f.run(p[0], dose{wall: 0.3, loss: 2, memory: 1 << 20})
	f.run(p[1], dose{wall: 0.3, loss: 2, steps: 70, status: sweeps.Running})
	f.run(p[2], dose{wall: 0.1, loss: 2, steps: 2, status: sweeps.Failed, cause: hostile})
	p[2].Label = hostile
	f.run(p[3], dose{wall: 0.1, loss: 2, steps: 60, status: sweeps.Stopped, cause: "slower"})
	p[3].Attempts[0].Rule = "slower"
	return f
}

// Every run is a row, every axis and every metric is a column; quoting is RFC 4180's.
func TestCSV(t *testing.T) {
	table := mixed(t).measure(nil)
	var b bytes.Buffer
	ok(t, table.CSV(&b))
	if strings.Count(b.String(), "\r\n") != 5 || strings.Count(b.String(), "\n") != 5 {
		t.Errorf("lines end otherwise than in CRLF: %q", b.String())
	}
	rows, err := csv.NewReader(&b).ReadAll()
	ok(t, err)
	head := rows[0]
	want := append(slices.Clone(table.Axes), "run", "point", "variant", "scheme", "tp", "rank", "size", "state", "cause", "vs_full_ci_lo", "vs_full_verdict", "ci_lo")
	for _, m := range Metrics() {
		want = append(want, m.Name)
	}
	for _, name := range want {
		if i := slices.Index(head, name); i < 0 || slices.Contains(head[i+1:], name) {
			t.Errorf("column %s is not there once", name)
		}
	}
	cell := func(row int, name string) string { return rows[row][slices.Index(head, name)] }
	if len(rows) != 5 || cell(1, "scheme") != "full-rank" || cell(1, "rank") != "" || cell(2, "state") != "running" || cell(3, "state") != "failed" || cell(4, "vs_full_verdict") != "" {
		t.Errorf("%q", rows)
	}
	if cell(1, "peak_memory") != "1048576" || cell(1, "vs_full") != "1" || cell(1, "steps_done") != "150" {
		t.Errorf("%q", rows[1])
	}
	if c := cell(3, "cause"); !strings.Contains(c, `"quoted", `) || strings.ContainsFunc(c, unicode.IsControl) {
		t.Errorf("cause %q", c)
	}
	ok(t, table.Sort("scheme", true)) // the order is the table's
	b.Reset()
	ok(t, table.CSV(&b))
	if rows, err = csv.NewReader(&b).ReadAll(); err != nil || rows[1][slices.Index(head, "scheme")] != "vanilla" {
		t.Errorf("%v: %q", err, rows)
	}
}

// cells of a line of a Markdown table: bars that are not escaped divide them.
func cells(line string) int {
	n, escaped := 0, false
	for _, r := range line {
		if r == '|' && !escaped {
			n++
		}
		escaped = r == '\\' && !escaped
	}
	return n - 1
}

func TestMarkdown(t *testing.T) {
	table := mixed(t).measure(nil)
	var b bytes.Buffer
	ok(t, table.Markdown(&b))
	text := b.String()
	lines, width := 0, 0
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "|") {
			width = 0
			continue
		}
		lines++
		if width == 0 {
			width = cells(line)
		}
		if n := cells(line); n != width {
			t.Errorf("%d cells, the head has %d: %s", n, width, line)
		}
	}
	if lines != 2+10+3 {
		t.Errorf("%d lines of tables", lines)
	}
	for _, bad := range []string{"\x1b", "\r", "[l](u)", "<script>", " `x` "} {
		if strings.Contains(strings.ReplaceAll(text, `\<`, ""), bad) && !strings.Contains(bad, "<") || strings.Contains(text, " <script>") {
			t.Errorf("%q got through:\n%s", bad, text)
		}
	}
	for _, want := range []string{"## Sweep a", "### Pruned", `a\|b`, "| scheme |", "---:"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// Text fits into every width, and nothing in it steers a terminal.
func TestTextFits(t *testing.T) {
	for name, table := range map[string]*Table{"mixed": mixed(t).measure(nil), "nothing": newFake(t, nil).measure(nil), "queued": usual(t).measure(nil)} {
		for width := range 220 {
			text := textOf(t, table, width)
			if !utf8.ValidString(text) {
				t.Fatalf("%s at %d: not UTF-8", name, width)
			}
			for line := range strings.Lines(text) {
				line = strings.TrimSuffix(line, "\n")
				if w := runewidth.StringWidth(line); width > 0 && w > width {
					t.Fatalf("%s at %d: a line of %d: %q", name, width, w, line)
				}
				if strings.ContainsFunc(line, unicode.IsControl) || strings.ContainsRune(line, '\u202e') {
					t.Fatalf("%s at %d: %q", name, width, line)
				}
			}
		}
	}
}

// What has no room goes: first what matters least.
func TestTextDropsColumns(t *testing.T) {
	f := usual(t)
	f.finish()
	table := f.measure(nil)
	for _, c := range []struct {
		width     int
		has, lack []string
	}{
		{0, []string{"95 % interval", "run", "device MiB", "vs vanilla", "comm ms"}, nil},
		{120, []string{"step ms", "vs full", "vs vanilla", "loss", "device MiB"}, []string{"run"}},
		{80, []string{"scheme", "tp", "rank", "step ms", "vs full", "vs vanilla", "loss"}, []string{"95 %", "run", "state"}},
		{40, []string{"scheme", "tp", "rank", "step ms"}, []string{"vs vanilla"}},
	} {
		head, _, _ := strings.Cut(textOf(t, table, c.width), "\n")
		for _, h := range c.has {
			if !strings.Contains(head, h) {
				t.Errorf("%d: no %s in %s", c.width, h, head)
			}
		}
		for _, h := range c.lack {
			if strings.Contains(head, h) {
				t.Errorf("%d: %s in %s", c.width, h, head)
			}
		}
	}
	text := textOf(t, table, 100)
	for _, want := range []string{"2.00x [", "*  btp", "Best of tiny: fastest btp", "lowest loss full1", "10 points: 10 finished."} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// Whatever a label, a cause or a name says, exports can be read back.
func FuzzExports(f *testing.F) {
	f.Add(hostile)
	f.Add("=1+1")
	f.Add("\x1b]0;x\x07\xff\xfe|")
	f.Fuzz(func(t *testing.T, s string) {
		table := &Table{Name: s, Axes: []string{"tp"}, Rows: []*Row{{Run: s, Label: s, Cause: s, Status: sweeps.Failed, Point: s, Scheme: s}},
			Pruned: []space.Pruned{{Point: s, Reason: s}}}
		var b bytes.Buffer
		ok(t, table.CSV(&b))
		rows, err := csv.NewReader(&b).ReadAll()
		ok(t, err)
		if s != "" && (len(rows) != 2 || len(rows[0]) != len(rows[1])) {
			t.Errorf("%q", rows)
		}
		b.Reset()
		ok(t, table.Markdown(&b))
		sameWidth(t, b.String())
		for line := range strings.Lines(textOf(t, table, 60)) {
			if line = strings.TrimSuffix(line, "\n"); runewidth.StringWidth(line) > 60 || strings.ContainsFunc(line, unicode.IsControl) {
				t.Errorf("%q", line)
			}
		}
	})
}

// sameWidth requires that the lines of a Markdown table have equally many cells.
func sameWidth(t *testing.T, text string) {
	t.Helper()
	width := 0
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "|") {
			width = 0
		} else if n := cells(line); width == 0 {
			width = n
		} else if n != width {
			t.Errorf("%d cells instead of %d: %q", n, width, line)
		}
	}
}
