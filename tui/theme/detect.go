package theme

import (
	"strings"

	"boost-tui/tui/early"

	"github.com/muesli/termenv"
)

// Options say what the terminal can show. Detect fills them from the
// environment; flags of the command line overwrite single fields.
type Options struct {
	Name    Name            // Auto, Dark, Light or Mono
	Dark    bool            // background, for Auto
	Profile termenv.Profile // colours
	Plain   bool            // no escape sequences for style at all (TERM=dumb)
	ASCII   bool            // glyphs of 0x20-0x7e only
}

// Detect reads the terminal's abilities from the environment alone. It never
// asks the terminal: a query costs seconds where nobody answers.
func Detect(getenv func(string) string) Options {
	term := strings.ToLower(getenv("TERM"))
	o := Options{Name: Auto, Dark: early.Dark(getenv("COLORFGBG")), Profile: profile(term, strings.ToLower(getenv("COLORTERM")))}
	o.Plain = term == "dumb" || term == ""
	if getenv("NO_COLOR") != "" {
		o.Profile = termenv.Ascii
	}
	o.ASCII = !utf8Locale(getenv) || term == "dumb" || term == "linux" || strings.HasPrefix(term, "vt")
	return o
}

func profile(term, colorTerm string) termenv.Profile {
	multiplexed := strings.HasPrefix(term, "screen") || strings.HasPrefix(term, "tmux")
	switch {
	case term == "" || term == "dumb" || strings.HasPrefix(term, "vt"):
		return termenv.Ascii
	case (colorTerm == "truecolor" || colorTerm == "24bit") && !multiplexed, strings.HasSuffix(term, "-direct"):
		return termenv.TrueColor
	case strings.Contains(term, "256color"), contains(term, "kitty", "alacritty", "ghostty", "wezterm", "foot"):
		return termenv.ANSI256
	case contains(term, "xterm", "linux", "screen", "tmux", "rxvt", "ansi", "cygwin", "color", "konsole"):
		return termenv.ANSI
	}
	// An unknown terminal starts without colours: states are told apart by glyphs.
	return termenv.Ascii
}

func contains(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// utf8Locale reports whether the locale's character set is UTF-8, by the
// precedence of setlocale(3): LC_ALL, then LC_CTYPE, then LANG.
func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}
