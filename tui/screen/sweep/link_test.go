package sweep_test

import (
	"strings"
	"testing"

	"boost-tui/sweeps/space"
)

// Times that were taken beside an emulated link say so in every pane that shows them.
func TestEmulatedLinkIsMarked(t *testing.T) {
	file := comparison(t)
	file.Set = append(file.Set, space.Assign{Key: "link", Value: "bw=2GB/s,latency=20us"})
	for _, size := range [][2]int{{80, 24}, {120, 36}, {200, 50}} {
		d, _ := shown(t, size[0], size[1], made(t, file, 7))
		has(t, d.Text(), "Queue, emulated link")
		d.Press("tab")
		has(t, d.Text(), "Results, emulated link")
		d.Press("h")
		if text := d.Text(); !strings.Contains(text, "Heat") || !strings.Contains(text, "ms, emulated link") && !strings.Contains(text, "full, emulated link") {
			t.Errorf("at %v:\n%s", size, text)
		}
	}
	d, _ := shown(t, 120, 36, made(t, comparison(t), 7))
	hasNot(t, d.Text(), "emulated")
}
