// Package theme holds what the screens look like: styles, glyphs and the
// terminal's abilities, built once and passed by value. Styles are finished
// escape sequences, so painting is string concatenation. The palette is Okabe
// and Ito's, which people with any common colour blindness can tell apart.
package theme

import (
	"strings"

	"github.com/muesli/termenv"
)

// Name of a theme.
type Name string

// The themes.
const (
	Auto  Name = "auto"
	Dark  Name = "dark"
	Light Name = "light"
	Mono  Name = "mono"
)

// Names lists the themes in the order in which the T key walks through them.
func Names() []Name { return []Name{Auto, Dark, Light, Mono} }

// Style paints text. The zero value paints nothing.
type Style struct{ open string }

// Paint returns s in this style. An empty s stays empty.
func (s Style) Paint(text string) string {
	if s.open == "" || text == "" {
		return text
	}
	return s.open + text + "\x1b[0m"
}

// Theme is everything a View needs to know about looks.
type Theme struct {
	Options Options
	Glyphs  Glyphs
	ASCII   bool

	Text, Dim, Strong, Accent, Title   Style
	Border, BorderFocus, Selected, Tab Style
	Good, Warn, Bad, Blocked           Style
	Compute, Overlap, Exposed          Style
	Memory, Idle                       Style
	Series                             [6]Style // colours of lines in one chart
}

type palette struct{ text, dim, accent, border, good, warn, bad, compute, overlap, exposed, memory, idle, other string }

var darkPalette = palette{text: "", dim: "#8a8a8a", accent: "#56B4E9", border: "#626262", good: "#2fbf94", warn: "#E69F00", bad: "#ff6e4a",
	compute: "#56B4E9", overlap: "#2fbf94", exposed: "#E69F00", memory: "#CC79A7", idle: "#8a8a8a", other: "#F0E442"}

var lightPalette = palette{text: "", dim: "#6c6c6c", accent: "#0072B2", border: "#9e9e9e", good: "#00694d", warn: "#8a5a00", bad: "#b03a00",
	compute: "#0072B2", overlap: "#00795a", exposed: "#b06f00", memory: "#a0437a", idle: "#808080", other: "#5f5f00"}

// New builds a theme for a terminal.
func New(o Options) Theme {
	name := o.Name
	if name == Auto || name == "" {
		name = Light
		if o.Dark {
			name = Dark
		}
	}
	p, colours := darkPalette, o.Profile
	if name == Light {
		p = lightPalette
	}
	if name == Mono {
		colours = termenv.Ascii
	}
	b := builder{profile: colours, plain: o.Plain}
	t := Theme{Options: o, Glyphs: unicodeGlyphs, ASCII: o.ASCII}
	if o.ASCII {
		t.Glyphs = asciiGlyphs
	}
	t.Text, t.Dim, t.Strong = b.style(p.text), b.style(p.dim, "2"), b.style("", "1")
	t.Accent, t.Title, t.Tab = b.style(p.accent, "1"), b.style("", "1"), b.style(p.accent, "1", "7")
	t.Border, t.BorderFocus, t.Selected = b.style(p.border), b.style(p.accent, "1"), b.style("", "7")
	t.Good, t.Warn, t.Bad = b.style(p.good), b.style(p.warn), b.style(p.bad, "1")
	t.Blocked = b.style(p.dim, "9")
	t.Compute, t.Overlap, t.Exposed = b.style(p.compute), b.style(p.overlap), b.style(p.exposed)
	t.Memory, t.Idle = b.style(p.memory), b.style(p.idle)
	t.Series = [6]Style{b.style(p.compute), b.style(p.exposed), b.style(p.overlap), b.style(p.memory), b.style(p.other), b.style(p.dim)}
	return t
}

// With returns the same terminal under another theme.
func (t Theme) With(name Name) Theme {
	o := t.Options
	o.Name = name
	return New(o)
}

type builder struct {
	profile termenv.Profile
	plain   bool
}

// style joins a colour with SGR attributes. With colours, the attributes that
// stand in for a colour (dim, "2") are left out: they double the effect.
func (b builder) style(hex string, attributes ...string) Style {
	if b.plain {
		return Style{}
	}
	var codes []string
	coloured := hex != "" && b.profile != termenv.Ascii
	for _, a := range attributes {
		if a == "2" && coloured {
			continue
		}
		codes = append(codes, a)
	}
	if coloured {
		codes = append(codes, b.profile.Color(hex).Sequence(false))
	}
	if len(codes) == 0 {
		return Style{}
	}
	return Style{open: "\x1b[" + strings.Join(codes, ";") + "m"}
}
