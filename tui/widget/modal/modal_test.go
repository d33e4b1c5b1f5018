package modal_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/input"
	"boost-tui/tui/widget/modal"

	"github.com/muesli/termenv"
)

var plain = theme.New(theme.Options{Dark: true, Profile: termenv.Ascii, Plain: true})

func lines(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("run 0%d-btp-x (tiny cola, btp, tp 1) with a line that is long", i))
	}
	return append(out, "", "This cannot be undone.")
}

// bodies are the rooms that a terminal of 120x36, 80x24 and 40x10 leaves to a dialog.
var bodies = [][2]int{{120, 33}, {80, 21}, {40, 7}}

// P12: the choices and the keys are there at every size.
func TestConfirmShowsItsChoices(t *testing.T) {
	for _, size := range bodies {
		for _, n := range []int{1, 8, 60} {
			view := modal.Confirm{Title: "Delete?", Lines: lines(n), Yes: "delete them all"}.View(plain, size[0], size[1])
			if !strings.Contains(view, "[ No ]") || !strings.Contains(view, "Yes, delete") || !strings.Contains(view, "y yes") {
				t.Errorf("%v, %d lines:\n%s", size, n, view)
			}
			check(t, view, size)
		}
		view := modal.Confirm{Title: "Launch", Lines: lines(9), Yes: "launch now", Alt: "wait for #a1b2"}.View(plain, size[0], size[1])
		for _, want := range []string{"[ No ]", "Yes, launch now", "wait for #a1b2", "y yes", "w wait"} {
			if !strings.Contains(view, want) {
				t.Errorf("%v: no %q in\n%s", size, want, view)
			}
		}
		check(t, view, size)
	}
}

func check(t *testing.T, view string, size [2]int) {
	t.Helper()
	rows := strings.Split(view, "\n")
	if len(rows) > size[1] {
		t.Errorf("%v: %d rows", size, len(rows))
	}
	for _, row := range rows {
		if layout.Width(row) > size[0] {
			t.Errorf("%v: %q is too wide", size, row)
		}
	}
}

// press sends keys until the dialog is done.
func press(m modal.Modal, names ...string) modal.Result {
	var r modal.Result
	for _, n := range names {
		if m, r = m.Update(keys.Press(n)); r.Done {
			break
		}
	}
	return r
}

func TestConfirmAnswers(t *testing.T) {
	two, three := modal.Confirm{Yes: "go"}, modal.Confirm{Yes: "go", Alt: "wait"}
	for _, c := range []struct {
		in    modal.Modal
		press string
		want  any
	}{
		{two, "enter", nil}, {two, "n", nil}, {two, "esc", nil}, {two, "y", true}, {two, "tab enter", true}, {two, "left enter", true}, {two, "tab tab enter", nil},
		{three, "w", modal.Alternative}, {three, "tab tab enter", modal.Alternative}, {three, "left enter", modal.Alternative}, {three, "right enter", true}, {three, "enter", nil},
	} {
		if r := press(c.in, strings.Fields(c.press)...); !r.Done || r.Answer != c.want {
			t.Errorf("%s: %+v, want %v", c.press, r, c.want)
		}
	}
	if r := press(two, "w", "x", "2"); r.Done {
		t.Errorf("keys that mean nothing answered: %+v", r)
	}
}

// Everything that will happen can be read at every size.
func TestConfirmScrolls(t *testing.T) {
	var m modal.Modal = modal.Confirm{Title: "Delete?", Lines: lines(30), Yes: "delete"}
	seen := ""
	for range 40 {
		seen += m.View(plain, 80, 10)
		m, _ = m.Update(keys.Press("down"))
	}
	for i := range 30 {
		if want := fmt.Sprintf("run 0%d-", i); !strings.Contains(seen, want) {
			t.Errorf("%s was never shown", want)
		}
	}
}

func TestPromptMenuAndTextAtEverySize(t *testing.T) {
	var items []modal.Item
	for i := range 40 {
		items = append(items, modal.Item{Label: fmt.Sprintf("item %d", i), Note: "a note that is long enough to be cut somewhere in a narrow terminal, whatever its width is"})
	}
	for _, size := range bodies {
		views := map[string]string{
			"enter accept": modal.Prompt{Title: "Tags", Label: "words; an empty line takes all away", Line: input.New("abc")}.View(plain, size[0], size[1]),
			"enter choose": modal.Menu{Title: "Actions", Items: items, Find: true}.View(plain, size[0], size[1]),
			"esc close":    modal.Text{Title: "Dry run", Lines: lines(50)}.View(plain, size[0], size[1]),
		}
		for want, view := range views {
			if !strings.Contains(view, want) {
				t.Errorf("%v: no %q in\n%s", size, want, view)
			}
			check(t, view, size)
		}
	}
}

func TestPromptKeepsWhatDoesNotPass(t *testing.T) {
	p := modal.Prompt{Title: "x", Check: func(s string) error {
		if s == "ab" {
			return nil
		}
		return errors.New("not ab")
	}}
	if r := press(p, "a", "enter"); r.Done {
		t.Errorf("passed: %+v", r)
	}
	if r := press(p, "a", "enter", "b", "enter"); r.Answer != "ab" {
		t.Errorf("answer %+v", r)
	}
}

// What opens with text takes what is typed first in its place, and says so.
func TestPromptReplacesItsText(t *testing.T) {
	for _, c := range []struct{ press, want string }{
		{"x enter", "x"}, {"end x enter", "1,2x"}, {"left x enter", "1,x2"}, {"home x enter", "x1,2"}, {"backspace x enter", "1,x"}, {"ctrl+u enter", ""}, {"enter", "1,2"},
	} {
		if r := press(modal.Prompt{Line: input.New("1,2")}, strings.Fields(c.press)...); r.Answer != c.want {
			t.Errorf("%s: %+v, want %q", c.press, r, c.want)
		}
	}
	for _, size := range bodies {
		var m modal.Modal = modal.Prompt{Title: "Values of tp", Label: "a label", Line: input.New("1,2")}
		for _, want := range []string{"‹1,2›", "typing replaces", "^U clear"} {
			if view := m.View(plain, size[0], size[1]); !strings.Contains(view, want) {
				t.Errorf("%v: no %q in\n%s", size, want, view)
			}
		}
		m, _ = m.Update(keys.Press("end"))
		if view := m.View(plain, size[0], size[1]); strings.Contains(view, "typing replaces") || strings.Contains(view, "‹") {
			t.Errorf("%v: still selected:\n%s", size, view)
		}
	}
}

// A fault can be read to its end in a narrow terminal.
func TestPromptBreaksItsFault(t *testing.T) {
	const fault = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
	for _, size := range bodies {
		m, _ := modal.Prompt{Title: "x", Label: "a label", Check: func(string) error { return errors.New(fault) }}.Update(keys.Press("enter"))
		view := m.View(plain, size[0], size[1])
		check(t, view, size)
		if !strings.Contains(view, "sixteen") || !strings.Contains(view, "enter accept") {
			t.Errorf("%v:\n%s", size, view)
		}
	}
}

func TestMenuFindsWords(t *testing.T) {
	m := modal.Menu{Items: []modal.Item{{Label: "write files", Note: "E"}, {Label: "delete", Off: true}, {Label: "sort"}}, Find: true}
	if r := press(m, "s", "o", "enter"); r.Answer != 2 {
		t.Errorf("answer %+v", r)
	}
	if r := press(m, "d", "e", "l", "enter"); r.Done {
		t.Errorf("what is off was chosen: %+v", r)
	}
}

// What a menu asks, and the note of the item under the cursor, can be read in a
// narrow terminal.
func TestMenuBreaksItsTexts(t *testing.T) {
	const long = "a note that is long enough to be cut somewhere in a narrow terminal of eighty cells, whatever its width is up to the-end"
	m := modal.Menu{Title: "norm of every point", Label: long, Items: []modal.Item{{Label: "online", Note: "short"}, {Label: "sync", Note: long}}, Find: true}
	for _, size := range bodies[:2] {
		for range 2 {
			view := m.View(plain, size[0], size[1])
			check(t, view, size)
			if want := 1 + m.At; strings.Count(view, "the-end") < want {
				t.Errorf("%v, item %d:\n%s", size, m.At, view)
			}
			next, _ := m.Update(keys.Press("down"))
			m = next.(modal.Menu)
		}
		m.At = 0
	}
}
