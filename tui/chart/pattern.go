package chart

import "boost-tui/tui/theme"

// patterns of lines, as dots along a row of cells of two dots each: solid,
// dashed, dotted, dash-dot, long dashes, dots in pairs.
var patterns = [][]bool{
	nil,
	{true, true, true, true, false, false},
	{true, false, false, false},
	{true, true, true, true, false, false, true, false, false, false},
	{true, true, true, true, true, true, true, true, false, false, false, false},
	{true, true, false, false, false, false},
}

// plainGlyphs are their characters in Plain mode, patternMarks their marks in
// a legend.
var (
	plainGlyphs  = []rune{'*', 'o', '+', 'x', '%', '@'}
	patternMarks = []string{"━━", "╍╍", "··", "╍·", "━·", "╍ "}
)

// Faint is the pattern of what stands behind another line, such as the raw
// values behind the smoothed ones.
const Faint = -1

// remainder is a pattern that exists; the faint one is dotted.
func remainder(pattern int) int {
	if pattern < 0 {
		return 2
	}
	return pattern % len(patterns)
}

// plainGlyph is the character of a line in Plain mode.
func plainGlyph(pattern int) rune {
	if pattern < 0 {
		return '.'
	}
	return plainGlyphs[remainder(pattern)]
}

// patternOf is the pattern's dots. One character tells lines apart by itself.
func patternOf(pattern int, mode Mode) []bool {
	if mode == Plain {
		return nil
	}
	return patterns[remainder(pattern)]
}

// Legend is the mark of a line with a pattern, in its style, before its name.
func Legend(t theme.Theme, style theme.Style, pattern int, name string) string {
	mark := patternMarks[remainder(pattern)]
	if ModeOf(t) == Plain {
		mark = string(plainGlyph(pattern))
	}
	return style.Paint(mark) + " " + name
}
