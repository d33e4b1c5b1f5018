package runs_test

import (
	"regexp"
	"strings"
	"testing"

	"boost-tui/runner"
	"boost-tui/tui/testkit"
)

// A run on the emulated device or beside an emulated link is marked in the table at every size, whole and beside its name, and in its
// details; a list without any has no column for it.
func TestEmulatedRunsAreMarked(t *testing.T) {
	s := store(t)
	hasNot := func(text string) {
		if strings.Contains(text, " emu ") {
			t.Errorf("a column for nothing:\n%s", text)
		}
	}
	hasNot(start(t, 160, 36, s).Text())
	for i, set := range []string{"link=bw=2GB/s", "device=emulated"} {
		in := testkit.Info("0807-btp-i"+string(rune('1'+i)), testkit.Experiment(t, "tp=2", set), runner.Finished)
		in.Run.Name = "a-name-of-some-length"
		in.Run.Created, in.Result = testkit.Start, summary(20, "4.3")
		s.Infos = append(s.Infos, in)
	}
	link, device := regexp.MustCompile(`#i1 .* net `), regexp.MustCompile(`#i2 .* dev `)
	for _, size := range [][2]int{{40, 10}, {60, 20}, {80, 24}, {120, 36}, {200, 50}} {
		d := start(t, size[0], size[1], s)
		d.Press("home")
		if text := d.Text(); !link.MatchString(text) || !device.MatchString(text) {
			t.Errorf("%v: no mark in\n%s", size, text)
		}
		if text := d.Text(); size[0] >= 80 && !strings.Contains(text, " a-name-of-") {
			t.Errorf("%v: no name in\n%s", size, text)
		}
	}
	d := start(t, 160, 36, s)
	d.Press("home")
	for range 2 {
		text := d.Text()
		if strings.Contains(text, "step 20.0 ms (median, emulated link)") && strings.Contains(text, "--link bw=2GB/s") {
			return
		}
		d.Press("down")
	}
	t.Errorf("the details are without the mark:\n%s", d.Text())
}
