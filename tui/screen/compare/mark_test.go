package compare_test

import (
	"regexp"
	"strings"
	"testing"

	"boost-tui/tui/testkit"
)

// markedRow is a row of the table with its mark.
var markedRow = regexp.MustCompile(`#(abcd|efgh|jkmn) +device `)

// onEmulator are the three runs, of which those that are chosen ran on the emulated device.
func onEmulator(t *testing.T, chosen ...int) []testkit.RunDir {
	runs := three(t)
	for _, i := range chosen {
		if err := runs[i].Experiment.Set("device", "emulated"); err != nil {
			t.Fatal(err)
		}
	}
	return runs
}

// The mark is whole at every size, on every sheet of columns, beside the longest name and the longest scheme, and what it means
// stands there without a key.
func TestMarkIsNeverCut(t *testing.T) {
	for _, size := range [][2]int{{40, 12}, {60, 20}, {80, 24}, {120, 36}, {200, 50}} {
		d, store := start(t, size[0], size[1], onEmulator(t, 0, 1, 2)...)
		d.Send(compareAll(store))
		for sheet := range 3 {
			n := len(markedRow.FindAllString(d.Text(), -1))
			if n != 3 {
				t.Errorf("%v, sheet %d: %d rows of 3 are marked:\n%s", size, sheet, n, d.Text())
			}
			d.Press("right")
		}
		if size[0] < 80 {
			continue
		}
		has(t, d.Text(), "emulated device: its times say nothing about a GPU, no verdict (all runs)", ", emulated device ")
		if strings.Contains(d.Text(), "emulated d…") {
			t.Errorf("%v: a mark is cut:\n%s", size, d.Text())
		}
	}
}

// Where some are marked, it is said which.
func TestSomeMarked(t *testing.T) {
	d, store := start(t, 80, 24, onEmulator(t, 1)...)
	d.Send(compareAll(store))
	has(t, d.Text(), "no verdict: #efgh", "some: emulated device")
	if rows := markedRow.FindAllString(d.Text(), -1); len(rows) != 1 || !strings.HasPrefix(rows[0], "#efgh") {
		t.Errorf("marked are %q:\n%s", rows, d.Text())
	}
}
