// Package early decides the terminal's background before bubbletea is
// initialised. bubbletea v1 asks the terminal for its background colour in a
// package init and waits five seconds for an answer that many terminals never
// give. Setting the answer first makes it ask nothing. Go initialises ready
// packages in the order of their import paths, so this works because
// "boost-tui/tui/early" sorts before "github.com/charmbracelet/bubbletea" and
// needs nothing but lipgloss. The mute-terminal test of package tui guards it.
package early

import (
	"os"
	"strconv"
	"strings"

	"github.com/charmbracelet/lipgloss"
)

func init() { lipgloss.SetHasDarkBackground(Dark(os.Getenv("COLORFGBG"))) }

// Dark reports whether a COLORFGBG value ("foreground;background", as rxvt and
// konsole export it) names a dark background. An absent or unreadable value
// counts as dark.
func Dark(colorFgBg string) bool {
	_, last, found := strings.Cut(colorFgBg, ";")
	if !found {
		return true
	}
	if i := strings.LastIndexByte(last, ';'); i >= 0 {
		last = last[i+1:]
	}
	n, err := strconv.Atoi(last)
	if err != nil {
		return true
	}
	return n < 7 || n == 8
}
