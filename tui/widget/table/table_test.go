package table_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/table"

	"github.com/muesli/termenv"
)

var plain = theme.New(theme.Options{Dark: true, Profile: termenv.Ascii, Plain: true})

func sample(n int) *table.Table {
	t := &table.Table{Columns: []table.Column{{ID: "id", Title: "id", Width: 4}, {ID: "ms", Title: "ms", Width: 6, Right: true, Drop: 1}, {ID: "note", Title: "note", Width: 6, Flex: 1, Drop: 2}}, Sort: "ms", Down: true}
	t.SetRows(rows(n))
	return t
}

func rows(n int) []table.Row {
	out := make([]table.Row, n)
	for i := range out {
		out[i] = table.Row{ID: fmt.Sprint("r", i), Cells: []table.Cell{{Text: fmt.Sprint("r", i)}, {Text: "1.5"}, {Text: "漢字 wide"}}}
	}
	return out
}

func TestCursorFollowsItsRow(t *testing.T) {
	tab := sample(10)
	tab.Move(4)
	tab.SetRows(rows(10)[2:])
	if tab.Cursor() != "r4" {
		t.Errorf("the cursor is on %s", tab.Cursor())
	}
	tab.SetRows(rows(3))
	if tab.Cursor() != "r2" {
		t.Errorf("after its row went, the cursor is on %s", tab.Cursor())
	}
	tab.SetRows(nil)
	tab.Move(5)
	tab.Toggle()
	tab.Range()
	tab.ToggleAll()
	if tab.Cursor() != "" || len(tab.Marked()) != 0 {
		t.Error("an empty table has a cursor or marks")
	}
}

func TestMarks(t *testing.T) {
	tab := sample(6)
	tab.Toggle()
	tab.Move(2)
	tab.Range()
	if got := fmt.Sprint(tab.Marked()); got != "[r0 r1 r2 r3]" {
		t.Errorf("marked %s", got)
	}
	tab.SetRows(rows(6)[3:])
	if got := fmt.Sprint(tab.Marked()); got != "[r3]" {
		t.Errorf("after rows went, marked %s", got)
	}
}

func TestColumnsGiveWay(t *testing.T) {
	tab := sample(30)
	for w := 0; w < 60; w++ {
		for h := 0; h < 12; h++ {
			view := tab.View(plain, w, h, true)
			for _, line := range strings.Split(view, "\n") {
				if w > 0 && h > 0 && layout.Width(line) != w {
					t.Fatalf("%dx%d: %q is %d wide", w, h, line, layout.Width(line))
				}
			}
		}
	}
	if view := tab.View(plain, 16, 5, true); strings.Contains(view, "note") || !strings.Contains(view, "ms▼") {
		t.Errorf("the note should go first:\n%s", view)
	}
	tab.Move(1 << 30)
	if view := tab.View(plain, 40, 5, true); !strings.Contains(view, "r29") {
		t.Errorf("the end is not shown:\n%s", view)
	}
}

// A cell that is cut says so.
func TestCutCellsEndWithAnEllipsis(t *testing.T) {
	var tb table.Table
	tb.Columns = []table.Column{{ID: "a", Title: "a", Width: 6}, {ID: "b", Title: "b", Width: 3, Right: true}}
	tb.SetRows([]table.Row{{ID: "1", Cells: []table.Cell{{Text: "abcdefgh"}, {Text: "12345"}}}, {ID: "2", Cells: []table.Cell{{Text: "abcdef"}, {Text: "123"}}}})
	for _, focused := range []bool{true, false} {
		if text := tb.View(plain, 20, 4, focused); !strings.Contains(text, "abcde… 12…") || !strings.Contains(text, "abcdef 123") {
			t.Errorf("cut without a sign:\n%s", text)
		}
	}
}

// Whatever the columns and the width, each column that fits beside the first is
// whole on one of the sheets, and no sheet is wider than the table.
func TestEveryColumnIsReached(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var tb table.Table
		row := table.Row{ID: "1"}
		for i := range 1 + rng.IntN(12) {
			w := 1 + rng.IntN(12)
			tb.Columns = append(tb.Columns, table.Column{ID: fmt.Sprint(i), Width: w, Drop: rng.IntN(4), Keep: rng.IntN(3) == 0, Flex: rng.IntN(2)})
			row.Cells = append(row.Cells, table.Cell{Text: strings.Repeat(string(rune('a'+i)), w)})
		}
		tb.SetRows([]table.Row{row})
		w := 4 + rng.IntN(60)
		seen := ""
		for tb.Sheet = range tb.Sheets(w) {
			view := tb.View(plain, w, 2, false)
			seen += view
			if first := row.Cells[0].Text; len(first)+4 <= w && !strings.Contains(view, first) {
				t.Fatalf("sheet %d of %+v in %d cells is without the first column", tb.Sheet, tb.Columns, w)
			}
		}
		for _, c := range row.Cells {
			if fits := len(row.Cells[0].Text)+1+len(c.Text) <= w-4; fits && !strings.Contains(seen, c.Text) {
				t.Fatalf("%s of %+v is on no sheet of %d cells:\n%s", c.Text, tb.Columns, w, seen)
			}
		}
	}
}

// What tells the rows apart stays beside the columns of later sheets.
func TestKeptColumnsStay(t *testing.T) {
	var tb table.Table
	tb.Columns = []table.Column{{ID: "run", Title: "run", Width: 5}, {ID: "tp", Title: "tp", Width: 4, Keep: true}, {ID: "a", Title: "aaa", Width: 8}, {ID: "b", Title: "bbb", Width: 8, Drop: 1}, {ID: "c", Title: "ccc", Width: 8, Drop: 2}}
	tb.SetRows(rows(1))
	for i, want := range []string{"run tp aaa", "run tp bbb", "run tp ccc"} {
		tb.Sheet = i
		head, _, _ := strings.Cut(tb.View(plain, 24, 2, false), "\n")
		if got := strings.Join(strings.Fields(head), " "); got != want {
			t.Errorf("sheet %d shows %q, want %q", i, got, want)
		}
	}
}
