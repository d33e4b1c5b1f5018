// Package table shows rows under headings: a cursor, marks, one sort arrow,
// and columns that give way when the width is small. It knows nothing of what
// the rows mean and does not sort them: the owner does.
package table

import (
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
)

// Column describes a column.
type Column struct {
	ID, Title string
	Width     int  // least width in cells
	Flex      int  // share of the width left over; 0: fixed
	Right     bool // numbers
	Drop      int  // columns with the largest Drop go first when room is short; 0: last of all
	Keep      bool // says which row it is: on later sheets too where it leaves room, as the first column is
}

// Cell is a text with its style. A zero style takes the row's.
type Cell struct {
	Text  string
	Style theme.Style
}

// whole is a row with its cells.
func (t *Table) whole(i int) Row {
	row := t.rows[i]
	if t.Fill != nil && row.Cells == nil {
		return t.Fill(row.ID)
	}
	return row
}

// Row is one line. Sign is shown before the first column (state, baseline).
type Row struct {
	ID    string
	Sign  string
	Style theme.Style
	Cells []Cell // by column
}

// Table is the state. The zero value is an empty table; set Columns and call
// SetRows.
type Table struct {
	Columns []Column
	Sort    string // ID of the column with the arrow
	Down    bool   // arrow points down (largest first)
	Empty   string // shown when there are no rows
	// Fill completes a row that is drawn, of which SetRows got the ID alone: of thousands, few are seen. nil: rows are whole.
	Fill func(id string) Row
	// Sheet chooses which columns are shown: the first sheet has the most
	// important ones, the others what had no room on those before.
	Sheet int

	rows   []Row
	cursor int
	offset int
	height int
	marks  map[string]bool
	anchor string
}

// SetRows replaces the rows. The cursor stays on its row when it is still
// there, else at its position; marks of vanished rows go.
func (t *Table) SetRows(rows []Row) {
	id := t.Cursor()
	t.rows = rows
	present := make(map[string]bool, len(rows))
	for i, r := range rows {
		present[r.ID] = true
		if r.ID == id && id != "" {
			t.cursor = i
		}
	}
	for m := range t.marks {
		if !present[m] {
			delete(t.marks, m)
		}
	}
	t.clamp()
}

// Len is the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Page is the number of rows that the last View had room for.
func (t *Table) Page() int { return max(1, t.height) }

// Cursor is the ID of the row under the cursor, "" without rows.
func (t *Table) Cursor() string {
	if t.cursor < 0 || t.cursor >= len(t.rows) {
		return ""
	}
	return t.rows[t.cursor].ID
}

// Select puts the cursor on the row with the ID, if it is there.
func (t *Table) Select(id string) {
	for i, r := range t.rows {
		if r.ID == id {
			t.cursor = i
			t.clamp()
			return
		}
	}
}

// Move moves the cursor by delta rows and stops at the ends.
func (t *Table) Move(delta int) {
	t.cursor = layout.Clamp(t.cursor+delta, 0, max(0, len(t.rows)-1))
	t.clamp()
}

// Toggle marks the row under the cursor, or takes its mark away, and steps on.
func (t *Table) Toggle() {
	id := t.Cursor()
	if id == "" {
		return
	}
	t.setMark(id, !t.marks[id])
	t.anchor = id
	t.Move(1)
}

// Range marks everything between the last toggled row and the cursor.
func (t *Table) Range() {
	from := t.cursor
	for i, r := range t.rows {
		if r.ID == t.anchor {
			from = i
		}
	}
	for i := min(from, t.cursor); i <= max(from, t.cursor) && i < len(t.rows); i++ {
		t.setMark(t.rows[i].ID, true)
	}
}

// ToggleAll marks every row, or clears all marks when every row has one.
func (t *Table) ToggleAll() {
	all := len(t.rows) > 0
	for _, r := range t.rows {
		all = all && t.marks[r.ID]
	}
	for _, r := range t.rows {
		t.setMark(r.ID, !all)
	}
}

// SetMarks replaces the marks.
func (t *Table) SetMarks(ids []string) {
	t.marks = nil
	for _, id := range ids {
		t.setMark(id, true)
	}
}

// Marked lists the marked rows in the order of the rows.
func (t *Table) Marked() []string {
	var out []string
	for _, r := range t.rows {
		if t.marks[r.ID] {
			out = append(out, r.ID)
		}
	}
	return out
}

func (t *Table) setMark(id string, on bool) {
	if t.marks == nil {
		t.marks = map[string]bool{}
	}
	if on {
		t.marks[id] = true
	} else {
		delete(t.marks, id)
	}
}

func (t *Table) clamp() {
	t.cursor = layout.Clamp(t.cursor, 0, max(0, len(t.rows)-1))
	h := max(1, t.height)
	t.offset = layout.Clamp(t.offset, t.cursor-h+1, t.cursor)
	t.offset = layout.Clamp(t.offset, 0, max(0, len(t.rows)-h))
}
