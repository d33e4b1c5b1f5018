package live_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"boost-tui/kernels"
	"boost-tui/profiler/record"
	"boost-tui/tui/testkit"
)

func TestTheLogIsShownAndHidden(t *testing.T) {
	for _, size := range [][2]int{{200, 50}, {120, 36}, {80, 24}, {60, 20}} {
		d, _ := start(t, size[0], size[1], btp(t))
		before := strings.Contains(d.Text(), "─ Log ") || strings.Contains(d.Text(), "═ Log ")
		for range 3 {
			d.Press("l")
			if now := strings.Contains(d.Text(), "─ Log ") || strings.Contains(d.Text(), "═ Log "); now == before {
				t.Errorf("%v: l changes nothing\n%s", size, d.Text())
			} else {
				before = now
			}
		}
	}
	// The step time stays while the log is shown.
	d, _ := start(t, 80, 24, btp(t))
	d.Press("l")
	has(t, d.Text(), "═ Log ", "─ Step time ms")
}

func TestASearchEndsWithEsc(t *testing.T) {
	d, _ := start(t, 120, 36, btp(t))
	d.Press("/")
	has(t, d.Text(), "enter find  esc end the search")
	d.Type("step 14")
	d.Press("enter")
	has(t, d.Text(), "/step 14 3 of 3", "▸step 148")
	d.Press("N")
	has(t, d.Text(), "/step 14 2 of 3", "▸step 147")
	d.Press("esc")
	if text := d.Text(); strings.Contains(text, "/step 14") || strings.Contains(text, "▸") {
		t.Errorf("esc leaves the search\n%s", text)
	}
	d.Press("e")
	has(t, d.Text(), "no line looks like an error")
}

// The dialog of the parts follows the run.
func TestThePartsDialogStaysUpToDate(t *testing.T) {
	run := btp(t)
	d, store := start(t, 120, 36, run)
	d.Press("enter")
	has(t, d.Text(), "up to step 148", "no sampled step yet")
	for rank := range run.Ranks {
		f, err := os.OpenFile(record.StepsPath(store.Infos[0].Dir, rank), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		l := run.Line(rank, 149)
		if _, err := f.Write(append(l.Append(nil), '\n')); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		sampled(t, store.Infos[0].Dir, rank)
	}
	d.Advance(3 * time.Second)
	has(t, d.Text(), "up to step 149", "1 sampled step,", "forward all-reduce qkv")
	d.Press("esc")
	has(t, d.Text(), "fwd all-reduce qkv 4.00 = wait 1.50 + transfer 2.50")
}

// sampled writes a timeline of one step with one collective: of two ranks, the
// odd ones come 3 ms late.
func sampled(t testing.TB, dir string, rank int) {
	t.Helper()
	w, err := record.OpenTimelineWriter(record.TimelinePath(dir, rank), rank, 0)
	if err != nil {
		t.Fatal(err)
	}
	late := int64(rank%2) * 3e6
	span := record.Span{StartNanos: testkit.Start.UnixNano() + late, DurNanos: 5.5e6 - late, Label: kernels.Label{Phase: kernels.Forward, Layer: 0, Chunk: "attn.in", Op: "qkv"},
		Op: kernels.AllReduce.String(), Class: kernels.Communication, Group: "tp", Bytes: 1 << 20}
	if err := w.Write(50, []record.Span{span}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
