// Package terminal owns the terminal while the UI runs: raw mode, the
// alternate screen, and what is written to it. It replaces bubbletea's
// renderer, which polls a timer for frames: here a frame is written when there
// is one, and an idle screen costs nothing.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"
)

// Terminal is a terminal in the UI's hands.
type Terminal struct {
	In, Out *os.File
	state   *term.State
	mouse   bool
}

const (
	enter    = "\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[0m\x1b[2J\x1b[H"
	leave    = "\x1b[0m\x1b[?2004l\x1b[?25h\x1b[?1049l"
	mouseOn  = "\x1b[?1000h\x1b[?1006h"
	mouseOff = "\x1b[?1006l\x1b[?1000l"
)

// Enter takes the terminal over. Leave gives it back.
func Enter(in, out *os.File, mouse bool) (*Terminal, error) {
	if !term.IsTerminal(in.Fd()) || !term.IsTerminal(out.Fd()) {
		return nil, fmt.Errorf("the screens need a terminal for input and output; without one, every action is a command (boost-tui --help)")
	}
	state, err := term.MakeRaw(in.Fd())
	if err != nil {
		return nil, fmt.Errorf("set the terminal to raw mode: %w", err)
	}
	t := &Terminal{In: in, Out: out, state: state, mouse: mouse}
	start := enter
	if mouse {
		start += mouseOn
	}
	if _, err := io.WriteString(out, start); err != nil {
		return nil, fmt.Errorf("write to the terminal: %w", err)
	}
	return t, nil
}

// Leave restores the screen and the line discipline. The mode is restored
// first: it works on a terminal that takes no bytes as well.
func (t *Terminal) Leave() error {
	err := term.Restore(t.In.Fd(), t.state)
	end := leave
	if t.mouse {
		end = mouseOff + end
	}
	if _, werr := io.WriteString(t.Out, end); err == nil {
		err = werr
	}
	if err != nil {
		return fmt.Errorf("restore the terminal: %w", err)
	}
	return nil
}

// Size is the terminal's size in cells; 80x24 where it does not say.
func (t *Terminal) Size() (w, h int) {
	w, h, err := term.GetSize(t.Out.Fd())
	if err != nil || w <= 0 || h <= 0 {
		return 80, 24
	}
	return w, h
}

// Clipboard is the sequence (OSC 52) that puts a text into the clipboard of
// the terminal, wrapped as the multiplexers tmux and screen need it. getenv
// tells which one is between.
func Clipboard(text string, getenv func(string) string) []byte {
	sequence := "\x1b]52;c;" + encode(text) + "\x07"
	switch {
	case getenv("TMUX") != "":
		// tmux takes it directly with set-clipboard on, and passes it to the
		// outer terminal; wrapping it would need allow-passthrough.
		return []byte(sequence)
	case strings.HasPrefix(getenv("TERM"), "screen"):
		return []byte("\x1bP" + sequence + "\x1b\\")
	}
	return []byte(sequence)
}

// Abandon restores the line discipline of a terminal that takes no bytes. Its
// screen is left as it is.
func (t *Terminal) Abandon() error { return term.Restore(t.In.Fd(), t.state) }
