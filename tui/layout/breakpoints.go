package layout

// Class is how much room a screen has. Screens drop panes from class to class
// instead of refusing to draw.
type Class int

// The classes. Below 40x10 the root draws one notice instead of a screen.
const (
	TooSmall Class = iota
	Tiny           // one pane at a time
	Narrow         // 80x24: short labels, two columns
	Wide           // 120x36: everything
)

// ClassOf classifies a whole terminal of w x h cells.
func ClassOf(w, h int) Class {
	switch {
	case w < 40 || h < 10:
		return TooSmall
	case w < 72 || h < 20:
		return Tiny
	case w < 110 || h < 32:
		return Narrow
	}
	return Wide
}
