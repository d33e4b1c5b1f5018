package chart_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"boost-tui/tui/chart"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
)

func cellOf(v float64) chart.HeatCell { return chart.HeatCell{Value: v, Text: chart.Value(v)} }

// The darkest block is the best whichever way is better, and the legend says
// which way that is at every width.
func TestTheDarkestIsTheBest(t *testing.T) {
	th := theme.New(theme.Options{Profile: termenv.Ascii, Plain: true})
	m := chart.HeatMap{Corner: "tp", Rows: []string{"1", "2"}, Cols: []string{"32", "64"}, Row: 1, Col: 1, Cells: [][]chart.HeatCell{{cellOf(1), cellOf(2)}, {cellOf(3), cellOf(4)}}}
	for _, c := range []struct {
		lower bool
		want  []string
		way   string
	}{
		{false, []string{"░1", "▒2", "▓3", "█4"}, "higher is better"},
		{true, []string{"█1", "▓2", "▒3", "░4"}, "lower is better"},
	} {
		m.Lower = c.lower
		for w := 24; w < 80; w += 3 {
			lines := chart.Heat(th, m, w, 6)
			text := strings.Join(lines, "\n")
			for _, want := range append(c.want, c.way) {
				if !strings.Contains(text, want) {
					t.Errorf("lower %v, %d cells: no %q in\n%s", c.lower, w, want, text)
				}
			}
			if legend := lines[len(lines)-1]; w > 66 && (strings.Index(legend, "░") > strings.Index(legend, "█") || !strings.Contains(legend, "· none")) {
				t.Errorf("the legend is %s", legend)
			}
		}
	}
}

// Whatever the numbers, lines fit, also where all are one.
func TestHeatFits(t *testing.T) {
	th := theme.New(theme.Options{Profile: termenv.Ascii, Plain: true})
	rng := rand.New(rand.NewPCG(7, 8))
	odd := []float64{math.NaN(), math.Inf(1), 0, -1, 1e300, 1e-300, 2, 2}
	for range 2000 {
		m := chart.HeatMap{Corner: "a corner", Lower: rng.IntN(2) == 0, Row: rng.IntN(4), Col: rng.IntN(4)}
		for range 1 + rng.IntN(4) {
			m.Rows = append(m.Rows, "row")
			m.Cells = append(m.Cells, nil)
		}
		for range 1 + rng.IntN(6) {
			m.Cols = append(m.Cols, "column")
			for y := range m.Cells {
				m.Cells[y] = append(m.Cells[y], cellOf(odd[rng.IntN(len(odd))]))
			}
		}
		w, h := rng.IntN(80), rng.IntN(10)
		lines := chart.Heat(th, m, w, h)
		if len(lines) > h {
			t.Fatalf("%d lines of %d", len(lines), h)
		}
		for _, line := range lines {
			if n := layout.Width(ansi.Strip(line)); n > w {
				t.Fatalf("%+v: %q has %d of %d cells", m, line, n, w)
			}
		}
	}
}
