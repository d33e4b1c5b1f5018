package chart_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"boost-tui/tui/chart"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"

	"github.com/muesli/termenv"
)

var plain = theme.New(theme.Options{Dark: true, Profile: termenv.Ascii, Plain: true})

// P2: any value at any size, in time.
func TestLineTakesAnything(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	inputs := map[string][]float64{
		"empty": {}, "one": {3}, "equal": {2, 2, 2, 2}, "nan": {nan}, "all nan": {nan, nan, nan},
		"mixed": {1, nan, 2, inf, -inf, 3}, "huge": {1e300, -1e300, 1}, "huge equal": {1e300, 1e300}, "tiny": {1e-300, 2e-300},
		"denormal": {5e-324, 0}, "max": {math.MaxFloat64, -math.MaxFloat64}, "zero": {0, 0}, "negative": {-3, -2, -1},
	}
	sizes := []int{0, 1, 2, 3, 5, 7, 20, 60, 200}
	for name, ys := range inputs {
		for _, mode := range []chart.Mode{chart.Braille, chart.Block, chart.Plain} {
			for _, log := range []bool{false, true} {
				for _, w := range sizes {
					for _, h := range sizes {
						if h > 60 {
							continue
						}
						l := chart.Line{Series: []chart.Series{{Points: chart.Range(1, ys)}}, Mode: mode, Log: log, Theme: plain, Cursor: 2,
							References: []chart.Reference{{Y: nan, Label: "a"}, {Y: 1e300, Label: "b"}, {Y: 2, Label: "c"}}}
						what := fmt.Sprintf("%s mode %d log %v %dx%d", name, mode, log, w, h)
						check(t, what, l.Draw(w, h), w, h)
						if d := quickest(func() { l.Draw(w, h) }); d > 20*time.Millisecond {
							t.Fatalf("%s took %v", what, d)
						}
					}
				}
			}
		}
		for _, w := range sizes {
			if got := layout.Width(chart.Spark(plain, ys, w)); got != w {
				t.Errorf("%s: sparkline of %d cells is %d wide", name, w, got)
			}
			for _, y := range append(ys, 1) {
				if got := layout.Width(chart.Bar(plain, plain.Good, y, 2, w, true)); got != w {
					t.Errorf("bar of %g: %d cells, want %d", y, got, w)
				}
			}
		}
	}
}

// quickest is the time of the quickest of up to five tries: other programs on
// the machine make single ones slow.
func quickest(f func()) time.Duration {
	best := time.Hour
	for range 5 {
		start := time.Now()
		f()
		if best = min(best, time.Since(start)); best < 5*time.Millisecond {
			break
		}
	}
	return best
}

func check(t *testing.T, what string, rows []string, w, h int) {
	t.Helper()
	if w == 0 || h == 0 {
		if len(rows) != 0 {
			t.Fatalf("%s: %d rows", what, len(rows))
		}
		return
	}
	if len(rows) != h {
		t.Fatalf("%s: %d rows", what, len(rows))
	}
	for _, row := range rows {
		if layout.Width(row) != w {
			t.Fatalf("%s: row %q is %d wide", what, row, layout.Width(row))
		}
	}
}

// An undrawable value breaks the line and leaves a flag on the axis.
func TestNaNBreaksTheLine(t *testing.T) {
	ys := []float64{4, 3, math.NaN(), 3, 2}
	rows := strings.Join(chart.Line{Series: []chart.Series{{Points: chart.Range(810, ys)}}, Theme: plain, NoCursor: true}.Draw(60, 10), "\n")
	if !strings.Contains(rows, "NaN @ 812") {
		t.Errorf("no flag in\n%s", rows)
	}
}

func TestLineGolden(t *testing.T) {
	ys := make([]float64, 148)
	for i := range ys {
		ys[i] = 5 + 4*math.Exp(-float64(i)/20)
	}
	l := chart.Line{Series: []chart.Series{{Points: chart.Range(1, ys)}}, Theme: plain, Cursor: 71, XName: "step",
		References: []chart.Reference{{Y: 8, Label: "full-rank 8.00"}}}
	got := strings.Join(l.Draw(60, 10), "\n")
	if !strings.Contains(got, "full-rank 8.00") || !strings.Contains(got, "step 148") || !strings.Contains(got, "┆") {
		t.Errorf("chart lacks reference, axis or cursor:\n%s", got)
	}
}

// Peaks survive any decimation.
func TestDecimateKeepsPeaks(t *testing.T) {
	ys := make([]float64, 100_000)
	ys[54_321] = 99
	top := 0.0
	for _, b := range chart.Decimate(chart.Range(0, ys), 0, float64(len(ys)-1), 80, false) {
		top = max(top, b.Max)
	}
	if top != 99 {
		t.Errorf("the peak became %g", top)
	}
}

func TestStackAddsUpExactly(t *testing.T) {
	for w := 0; w < 120; w++ {
		parts := chart.Breakdown(plain, 88.1, 51, 24, 3.3, 18.9)
		sum := 0
		for _, n := range chart.Cells(parts, 88.1+51+24+3.3+18.9, w) {
			sum += n
		}
		if sum != w || layout.Width(chart.Stack(parts, 400, w)) != w {
			t.Fatalf("parts of a bar of %d cells take %d", w, sum)
		}
	}
	chart.Cells(chart.Breakdown(plain, math.NaN(), math.Inf(1), -3, 1e300, 1e300), 1e300, 40)
}

func TestLabels(t *testing.T) {
	for _, c := range []struct {
		v, step float64
		want    string
	}{{0, 1, "0"}, {-1e-18, 0.5, "0"}, {280, 140, "280"}, {0.25, 0.05, "0.25"}, {2.5, 2.5, "2.5"}, {1.2e9, 1e8, "1.2e9"}, {-3, 1, "-3"}, {3e-7, 1e-7, "3e-7"}} {
		if got := chart.Label(c.v, c.step); got != c.want {
			t.Errorf("Label(%g, %g) = %q, want %q", c.v, c.step, got, c.want)
		}
	}
	for _, c := range []struct {
		v    float64
		want string
	}{{200.94, "200.9"}, {4.3014, "4.301"}, {0, "0"}, {12345, "12345"}, {math.NaN(), "NaN"}, {0.002, "0.002000"}} {
		if got := chart.Value(c.v); got != c.want {
			t.Errorf("Value(%g) = %q, want %q", c.v, got, c.want)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add(1.0, math.NaN(), 3.0, 20, 5, true)
	f.Fuzz(func(t *testing.T, a, b, c float64, w, h int, log bool) {
		w, h = layout.Clamp(w, -1, 200), layout.Clamp(h, -1, 60)
		l := chart.Line{Series: []chart.Series{{Points: chart.Range(0, []float64{a, b, c, a})}}, Log: log, Theme: plain, Cursor: b}
		check(t, "fuzz", l.Draw(max(0, w), max(0, h)), max(0, w), max(0, h))
	})
}

func BenchmarkLine(b *testing.B) {
	ys := make([]float64, 50_000)
	for i := range ys {
		ys[i] = math.Sin(float64(i)/900) + float64(i%17)/50
	}
	l := chart.Line{Series: []chart.Series{{Points: chart.Range(1, ys)}}, Theme: plain, NoCursor: true}
	for b.Loop() {
		l.Draw(116, 25)
	}
}

func TestTopLeavesOutliersOut(t *testing.T) {
	ys := make([]float64, 100)
	for i := range ys {
		ys[i] = 50 + float64(i%5)
	}
	if top, _ := chart.Top(ys); top != 0 {
		t.Errorf("without outliers: %v", top)
	}
	ys[0], ys[7], ys[8] = 400, math.NaN(), math.Inf(1)
	if top, peak := chart.Top(ys); top < 54 || top > 80 || peak != 400 {
		t.Errorf("top %v, peak %v", top, peak)
	}
	if top, _ := chart.Top(ys[:10]); top != 0 {
		t.Errorf("of ten values: %v", top)
	}
	rows := chart.Line{Series: []chart.Series{{Points: chart.Range(1, ys)}}, Top: 60, NoCursor: true}.Draw(60, 10)
	if !strings.Contains(strings.Join(rows, ""), "55") {
		t.Errorf("the scale does not end at the top:\n%s", strings.Join(rows, "\n"))
	}
}

// Lines are told apart without colours: by their dots, or by a character of
// their own, and the legend shows the same.
func TestPatternsTellLinesApart(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		th := theme.New(theme.Options{ASCII: ascii, Plain: true, Profile: termenv.Ascii})
		seen := map[string]int{}
		marks := map[string]int{}
		for pattern := range 6 {
			p := chart.Points{X: []float64{1, 100}, Y: []float64{3, 3}}
			rows := chart.Line{Series: []chart.Series{{Points: p, Pattern: pattern}}, Mode: chart.ModeOf(th), Theme: th, NoCursor: true}.Draw(60, 6)
			text := strings.Join(rows, "\n")
			if before, ok := seen[text]; ok {
				t.Errorf("ascii %v: lines %d and %d look the same:\n%s", ascii, before, pattern, text)
			}
			seen[text] = pattern
			mark := chart.Legend(th, theme.Style{}, pattern, "x")
			if before, ok := marks[mark]; ok {
				t.Errorf("ascii %v: the legend says %q of %d and %d", ascii, mark, before, pattern)
			}
			marks[mark] = pattern
		}
	}
}

// Labels of references that lie close stand on rows of their own, over the data.
func TestLabelsOfReferencesStayReadable(t *testing.T) {
	p := chart.Points{}
	for x := range 200 {
		p.X, p.Y = append(p.X, float64(x)), append(p.Y, float64(10+x%2*20))
	}
	for h := 6; h < 20; h++ {
		rows := chart.Line{Series: []chart.Series{{Points: p}}, References: []chart.Reference{{Y: 20, Label: "full mean 20.0"}, {Y: 20.5, Label: "van mean 20.5"}}, Theme: plain, NoCursor: true}.Draw(40, h)
		if text := strings.Join(rows, "\n"); !strings.Contains(text, "full mean 20.0") || !strings.Contains(text, "van mean 20.5") {
			t.Errorf("height %d:\n%s", h, text)
		}
	}
}
