package theme

// Glyphs are the characters that carry meaning. Meaning is in the glyph first
// and in its colour second, so that a colour-blind reader, a monochrome
// terminal and a stripped capture all show the same.
type Glyphs struct {
	// Parts of a step.
	Compute, Overlap, Exposed, Memory, Idle string
	// States of a run.
	Pending, Running, Finished, Failed, Cancelled, Lost string
	// Frames.
	H, V, TopLeft, TopRight, BottomLeft, BottomRight string
	// Frame of what has the keyboard: another form, for colour and bold may not be there.
	Focus Frame
	// Small signs.
	Cursor, Mark, Baseline, Vanilla, Up, Down, Left, Right, Ellipsis, Dash, Times, Check, Cross, Warn, Dot, Caret string
	// Blocked is glued to a choice that cannot be made, Differs stands for a ratio that cannot be given: both may be
	// several cells wide, and must read as signs and not as letters.
	Blocked, Differs string
	// Bars: full cell, empty cell and eighths from 1/8 to 7/8 (empty in ASCII).
	Full, Empty string
	Eighths     []string
	// Sparkline steps, lowest first.
	Spark []string
	// Axes.
	AxisV, AxisTick, AxisCorner, AxisH, CursorV string
}

// Frame is the characters of a frame.
type Frame struct{ H, V, TopLeft, TopRight, BottomLeft, BottomRight string }

// Frame is the one of panes, with the focus or without.
func (g Glyphs) Frame(focused bool) Frame {
	if focused {
		return g.Focus
	}
	return Frame{g.H, g.V, g.TopLeft, g.TopRight, g.BottomLeft, g.BottomRight}
}

// Unicode is the default set: every rune is one cell wide.
var unicodeGlyphs = Glyphs{
	Compute: "█", Overlap: "▓", Exposed: "▒", Memory: "░", Idle: "·",
	Pending: "…", Running: "▶", Finished: "✓", Failed: "✗", Cancelled: "■", Lost: "?",
	H: "─", V: "│", TopLeft: "┌", TopRight: "┐", BottomLeft: "└", BottomRight: "┘",
	Focus:  Frame{"═", "║", "╔", "╗", "╚", "╝"},
	Cursor: "▸", Mark: "●", Baseline: "B", Vanilla: "V", Up: "▲", Down: "▼", Left: "‹", Right: "›",
	Ellipsis: "…", Dash: "–", Times: "×", Check: "✓", Cross: "✗", Warn: "!", Dot: "·", Caret: "▏",
	Blocked: "✗", Differs: "≠",
	Full: "█", Empty: "░", Eighths: []string{"▏", "▎", "▍", "▌", "▋", "▊", "▉"},
	Spark: []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
	AxisV: "│", AxisTick: "┤", AxisCorner: "└", AxisH: "─", CursorV: "┆",
}

var asciiGlyphs = Glyphs{
	Compute: "#", Overlap: "=", Exposed: "-", Memory: ":", Idle: ".",
	Pending: "~", Running: ">", Finished: "+", Failed: "x", Cancelled: "o", Lost: "?",
	H: "-", V: "|", TopLeft: "+", TopRight: "+", BottomLeft: "+", BottomRight: "+",
	Focus:  Frame{"=", "|", "+", "+", "+", "+"},
	Cursor: ">", Mark: "*", Baseline: "B", Vanilla: "V", Up: "^", Down: "v", Left: "<", Right: ">",
	Ellipsis: "~", Dash: "-", Times: "x", Check: "+", Cross: "x", Warn: "!", Dot: ".", Caret: "_",
	Blocked: "[x]", Differs: "!=",
	Full: "#", Empty: ".", Spark: []string{"_", ".", "-", "=", "+", "*", "#"},
	AxisV: "|", AxisTick: "+", AxisCorner: "+", AxisH: "-", CursorV: ":",
}
