package launch_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"boost-tui/tui/msg"
	"boost-tui/tui/screen"
	"boost-tui/tui/testkit"
)

// An earlier run is edited by what it says, not by all that followed from it: another size is that size's shape,
// another rank holds for attention and MLP.
func TestEditingAnEarlierRun(t *testing.T) {
	dir := t.TempDir()
	d := start(t, 200, 50, &testkit.Store{}, func(env *screen.Env) { env.WorkDir = dir })
	d.Send(msg.EditExperiment{Experiment: testkit.Experiment(t, "tp=2", "steps=40", "tags=three-9wfz")})
	d.Advance(time.Second)
	if text := d.Text(); !strings.Contains(text, "boost-tui run --tp 2 --steps 40 --detach") {
		t.Fatalf("the preview gives more than what differs:\n%s", text)
	}
	focus(d, "size")
	d.Press("right")
	d.Advance(time.Second)
	if text := d.Text(); !strings.Contains(text, "run --size 60m --tp 2 --steps 40 --detach") || !strings.Contains(text, "▸128") || strings.Contains(text, "seq 128") {
		t.Errorf("size 60m kept the shape of tiny:\n%s", text)
	}
	d.Press("w", "ctrl+u")
	d.Type("a.toml")
	d.Press("enter")
	data, err := os.ReadFile(filepath.Join(dir, "a.toml"))
	if err != nil || strings.Contains(string(data), "layers") || strings.Contains(string(data), "rank") {
		t.Errorf("the file pins what follows from the size: %v\n%s", err, data)
	}
}

func TestRankOfAnEarlierRun(t *testing.T) {
	d := start(t, 200, 50, &testkit.Store{})
	d.Send(msg.EditExperiment{Experiment: testkit.Experiment(t, "rank=16")})
	focus(d, "rank")
	d.Press("right")
	if text := d.Text(); strings.Contains(text, "rank-attn") || strings.Contains(text, "--rank-mlp") {
		t.Errorf("the ranks of attention and MLP stayed behind:\n%s", text)
	}
}

// A shape that differs from its size is shown among the main fields, and another size takes it away.
func TestNothingIsAtWorkUnseen(t *testing.T) {
	d := start(t, 200, 50, &testkit.Store{})
	d.Send(msg.EditExperiment{Experiment: testkit.Experiment(t, "layers=2")})
	if text := d.Text(); !strings.Contains(text, "Layers") || !strings.Contains(text, "--layers 2") {
		t.Errorf("layers is not shown:\n%s", text)
	}
	focus(d, "size")
	d.Press("right")
	if text := d.Text(); !strings.Contains(text, "boost-tui run --size 60m --detach") {
		t.Errorf("another size kept the layers:\n%s", text)
	}
}

// What was typed for a size or variant is told when it is put aside, and is back when they are.
func TestShapesComeBackWithTheirSize(t *testing.T) {
	d := start(t, 200, 50, &testkit.Store{})
	d.Send(msg.EditExperiment{Experiment: testkit.Experiment(t, "layers=2", "rank=16", "rank-attn=8")})
	const set = "--layers 2 --rank 16 --rank-attn 8"
	focus(d, "size")
	d.Press("right")
	if text := d.Text(); !strings.Contains(text, "boost-tui run --size 60m --detach") || !strings.Contains(text, set+" left out: set for tiny") {
		t.Errorf("the shape of tiny stayed, or nothing says that it is gone:\n%s", text)
	}
	d.Press("right", "right", "left", "left", "left")
	if text := d.Text(); !strings.Contains(text, "boost-tui run "+set+" --detach") || !strings.Contains(text, set+" taken back") {
		t.Errorf("the shape of tiny did not come back:\n%s", text)
	}
	d.Send(msg.EditExperiment{Experiment: testkit.Experiment(t, "size=60m")})
	d.Press("left")
	if text := d.Text(); !strings.Contains(text, "boost-tui run --detach") {
		t.Errorf("another experiment got the shape:\n%s", text)
	}
}

func TestSchemeComesBackWithItsVariant(t *testing.T) {
	d := start(t, 200, 50, &testkit.Store{})
	d.Send(msg.EditExperiment{Experiment: testkit.Experiment(t, "scheme=vanilla")})
	focus(d, "variant")
	d.Press("right") // full
	if text := d.Text(); !strings.Contains(text, "--scheme vanilla left out: not one of full") {
		t.Errorf("the scheme went without a word:\n%s", text)
	}
	d.Press("left")
	if text := d.Text(); !strings.Contains(text, "boost-tui run --scheme vanilla --detach") {
		t.Errorf("the scheme did not come back:\n%s", text)
	}
}

// Outside of an edit digits belong to the root, whatever field the cursor is on.
func TestDigitsDoNotEdit(t *testing.T) {
	d := start(t, 120, 36, &testkit.Store{})
	focus(d, "steps")
	d.Press("2", "2")
	if text := d.Text(); strings.Contains(text, "--steps") || strings.Contains(text, "[2") {
		t.Errorf("a digit was typed into the field:\n%s", text)
	}
	d.Press("enter", "4", "x", "0", "enter")
	if text := d.Text(); !strings.Contains(text, "--steps 40") {
		t.Errorf("digits did not replace the value:\n%s", text)
	}
}
