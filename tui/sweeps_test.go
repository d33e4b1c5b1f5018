package tui_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"boost-tui/experiment"
	"boost-tui/planner"
	"boost-tui/runner"
	"boost-tui/sweeps"
	"boost-tui/sweeps/space"
	"boost-tui/tui"
)

func spec(t *testing.T, axes ...string) space.Spec {
	t.Helper()
	s := space.Spec{Name: "few", Set: []space.Assign{{Key: "size", Value: "tiny"}}}
	for _, text := range axes {
		a, err := space.ParseAxis(text)
		if err != nil {
			t.Fatal(err)
		}
		s.Axes = append(s.Axes, a)
	}
	return s
}

// here is this machine, whatever an experiment says.
func here(experiment.Experiment) planner.Machine { return planner.ThisMachine() }

// What the screen asks of a sweep's folder, without a program that looks after it.
func TestSweepStore(t *testing.T) {
	ctx := context.Background()
	store := runner.NewStore(t.TempDir())
	s := tui.NewSweepStore(store, "/nowhere/boost-tui", here)
	file := space.File{Spec: spec(t, "tp=1,2")}
	x, err := s.Expand(ctx, file.Spec)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := s.Cost(ctx, x, sweeps.DefaultOptions()); err != nil || e.Seconds != nil {
		t.Errorf("a cost without any measured run: %+v, %v", e, err)
	}
	if _, ok, err := s.Same(ctx, file.Spec); ok || err != nil {
		t.Errorf("a sweep of a space that has none: %v", err)
	}
	id, made, err := s.Create(ctx, file, x, sweeps.DefaultOptions())
	if err != nil || !made {
		t.Fatal(made, err)
	}
	// Another terminal that asks for the same finds it.
	other := tui.NewSweepStore(store, "", here)
	if again, made, err := other.Create(ctx, file, x, sweeps.DefaultOptions()); err != nil || made || again != id {
		t.Errorf("created twice: %s and %s, %v", id, again, err)
	}
	if in, ok, err := other.Same(ctx, file.Spec); err != nil || !ok || in.ID != id || in.Phase == sweeps.PhaseFinished || in.Total != 2 {
		t.Errorf("the same is %+v, %v, %v", in, ok, err)
	}
	if err := s.Start(ctx, id); err == nil {
		t.Error("a program that is not there was started")
	}
	view, err := s.Read(ctx, id)
	if err != nil || view.Table == nil || len(view.Table.Rows) != 2 || len(view.File.Axes) != 1 || view.FileErr != nil {
		t.Fatalf("%+v, %v", view, err)
	}
	if again, _ := s.Read(ctx, id); again != view {
		t.Error("without news another view")
	}
	// A larger space adds what is new; a sweep that moved meanwhile is asked for the rest.
	file.Spec = spec(t, "tp=1,2", "rank=32,64")
	if x, err = s.Expand(ctx, file.Spec); err != nil {
		t.Fatal(err)
	}
	added, err := s.Grow(ctx, id, file, x)
	if err != nil || added == 0 {
		t.Fatalf("%d added: %v", added, err)
	}
	if view, err = s.Read(ctx, id); err != nil || len(view.State.Points) != 2+added || len(view.File.Axes) != 2 {
		t.Fatalf("%+v, %v", view, err)
	}
	points := view.State.Points
	first, second := points[0].ID, points[1].ID
	if err := s.Skip(ctx, id, []string{first}); err != nil {
		t.Fatal(err)
	}
	if err := s.Skip(ctx, id, []string{first, second}); err != nil {
		t.Errorf("of two points, one of which is skipped: %v", err)
	}
	if err := s.Skip(ctx, id, []string{first}); !errors.Is(err, sweeps.ErrChanged) {
		t.Errorf("a skipped point: %v", err)
	}
	if err := s.Retry(ctx, id, []string{second}); err != nil {
		t.Error(err)
	}
	if err := s.Front(ctx, id, []string{second}); err != nil {
		t.Error(err)
	}
	if view, err = s.Read(ctx, id); err != nil || view.State.Queue[0].ID != second {
		t.Errorf("%s is not the first of the queue: %v", second, err)
	}
	if err := s.End(ctx, id, nil); err != nil {
		t.Error(err)
	}
	if view, err = s.Read(ctx, id); err != nil || view.State.Phase != sweeps.PhaseFinished {
		t.Errorf("an ended sweep is %s: %v", view.State.Phase, err)
	}
	infos, errs := s.List(ctx)
	if len(infos) != 1 || len(errs) > 0 || infos[0].Over != infos[0].Total {
		t.Errorf("%+v, %v", infos, errs)
	}
	if err := s.End(ctx, id, nil); err != nil {
		t.Errorf("ended twice: %v", err)
	}
	// A finished sweep is told, and another one made beside it.
	if in, ok, err := s.Same(ctx, file.Spec); err != nil || !ok || in.ID != id || in.Phase != sweeps.PhaseFinished {
		t.Errorf("the same is %+v, %v, %v", in, ok, err)
	}
	another, made, err := s.Create(ctx, file, x, sweeps.DefaultOptions())
	if err != nil || !made || another == id {
		t.Errorf("beside a finished one: %s, %v, %v", another, made, err)
	}
	if in, _, _ := s.Same(ctx, file.Spec); in.ID != another {
		t.Errorf("the same is %s, not the one that is not finished", in.ID)
	}
}

func TestSweepExport(t *testing.T) {
	ctx := context.Background()
	s := tui.NewSweepStore(runner.NewStore(t.TempDir()), "", here)
	file := space.File{Spec: spec(t, "tp=1,2")}
	x, err := s.Expand(ctx, file.Spec)
	if err != nil {
		t.Fatal(err)
	}
	id, _, err := s.Create(ctx, file, x, sweeps.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "a", "b")
	files, err := s.Export(ctx, id, to)
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v", files, err)
	}
	if _, err := s.Export(ctx, id, to); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an export replaced another: %v", err)
	}
	entries, err := os.ReadDir(to)
	if err != nil || len(entries) != 2 {
		t.Errorf("%v are there: %v", entries, err)
	}
	if _, err := s.Read(ctx, "20260101-000000-none-zzzz"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a sweep that is not there: %v", err)
	}
}
