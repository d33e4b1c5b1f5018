package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/runner/protocol"
)

// checkpoint makes one that looks whole.
func checkpoint(t *testing.T, dir string, step int) string {
	t.Helper()
	path := filepath.Join(dir, protocol.CheckpointDir, fmt.Sprintf("%s%d", checkpointPrefix, step))
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(path, manifestFile), "{}")
	put(t, filepath.Join(path, "r00000.safetensors"), strings.Repeat("x", 10_000))
	return path
}

// longOver makes a run that ended an hour ago, with checkpoints of steps 1 … n.
func longOver(t *testing.T, s *Store, name string, n int) (id, dir string) {
	t.Helper()
	r, dir := create(t, s, name)
	for i := range n {
		checkpoint(t, dir, i+1)
	}
	if err := writeResult(dir, Result{State: Finished, Ended: time.Now().Add(-time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, protocol.ReserveFile)); err != nil {
		t.Fatal(err)
	}
	return r.ID, dir
}

func collect(t *testing.T, s *Store, o CollectOptions) []string {
	t.Helper()
	found, errs := s.Collect(t.Context(), o)
	if errs != nil {
		t.Fatal(errs)
	}
	var paths []string
	for _, g := range found {
		if g.Bytes <= 0 && g.Kind != GarbageTemporary {
			t.Errorf("%s frees %d bytes", g.Path, g.Bytes)
		}
		paths = append(paths, g.Kind+" "+g.Path)
	}
	slices.Sort(paths)
	return paths
}

func aged(t *testing.T, path string) {
	t.Helper()
	when := time.Now().Add(-30 * 24 * time.Hour)
	if err := os.Chtimes(path, when, when); err != nil {
		t.Fatal(err)
	}
}

func TestCollect(t *testing.T) {
	s := NewStore(t.TempDir())
	id, dir := longOver(t, s, "kept", 4)
	trashed, _ := longOver(t, s, "trashed", 0)
	if _, err := s.Trash(trashed); err != nil {
		t.Fatal(err)
	}
	// What killed programs leave, and what only looks like it.
	half := filepath.Join(dir, protocol.CheckpointDir, protocol.CheckpointAside+"9")
	aside, notAside := filepath.Join(dir, ".result.json.0123456789ab"), filepath.Join(dir, ".hidden.txt")
	young := filepath.Join(dir, ".notes.json.0123456789ab")
	elsewhere := filepath.Join(s.Root, newPrefix+"00000000-1-1-123")
	tmp := filepath.Join(s.Root, indexFile+".123")
	if err := errors.Join(os.Mkdir(half, 0o700), os.Mkdir(elsewhere, 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{aside, notAside, young, tmp, filepath.Join(half, "part")} {
		put(t, path, "x")
	}
	for _, path := range []string{aside, notAside, tmp, filepath.Join(half, "part"), half, elsewhere} {
		aged(t, path)
	}
	want := []string{
		"checkpoint " + id + "/ckpt/step-1", "checkpoint " + id + "/ckpt/step-2", "checkpoint " + id + "/ckpt/step-3",
		"temporary " + filepath.Base(tmp), "temporary " + filepath.Base(elsewhere),
		"temporary " + id + "/" + filepath.Base(aside), "temporary " + id + "/ckpt/" + filepath.Base(half),
		"trash .trash/" + trashed,
	}
	slices.Sort(want)
	o := CollectOptions{KeepLast: 1}
	if got := collect(t, s, o); !slices.Equal(got, want) {
		t.Fatalf("%q\nwant\n%q", got, want)
	}
	if got := collect(t, s, o); !slices.Equal(got, want) {
		t.Fatalf("a dry run changed something: %q", got)
	}
	o.Delete = true
	if got := collect(t, s, o); !slices.Equal(got, want) {
		t.Fatalf("freed %q\nwant\n%q", got, want)
	}
	if got := collect(t, s, o); len(got) != 0 {
		t.Errorf("freed again: %q", got)
	}
	for _, path := range []string{notAside, young, filepath.Join(dir, "ckpt/step-4/"+manifestFile)} {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
	if in, err := s.Load(id); err != nil || in.State != Finished || in.Err != nil {
		t.Errorf("%+v, %v", in, err)
	}
}

func TestCollectKeepsWhatMayBeNeeded(t *testing.T) {
	s := NewStore(t.TempDir())
	_, dir := longOver(t, s, "resumed from", 4)
	e := testExperiment("goes on", 2)
	e.Train.Resume = filepath.Join(dir, protocol.CheckpointDir, "step-1")
	if _, _, err := s.Create(e, CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, justOver := longOver(t, s, "just over", 4)
	if err := writeResult(justOver, Result{State: Failed, Ended: time.Now()}); err != nil {
		t.Fatal(err)
	}
	running, runningDir := create(t, s, "pending")
	checkpoint(t, runningDir, 1)
	deleted, _ := longOver(t, s, "deleted lately", 0)
	if _, err := s.Trash(deleted); err != nil {
		t.Fatal(err)
	}
	if got := collect(t, s, CollectOptions{Delete: true, TrashAge: time.Hour, KeepLast: 0}); len(got) != 0 {
		t.Errorf("freed %q", got)
	}
	if _, err := s.Load(running.ID); err != nil {
		t.Error(err)
	}
	if _, err := s.Undo(t.Context()); err != nil {
		t.Error(err)
	}
}

// As many as the run was told to keep, where nobody says otherwise.
func TestCollectKeepsAsTheRunWasTold(t *testing.T) {
	s := NewStore(t.TempDir())
	id, _ := longOver(t, s, "x", 4)
	keep := experiment.Default().Train.KeepLast
	if got := collect(t, s, CollectOptions{TrashAge: time.Hour, KeepLast: -1}); len(got) != 4-keep || got[0] != "checkpoint "+id+"/ckpt/step-1" {
		t.Errorf("%q", got)
	}
}

// Links in a run that is ours lead to nothing that is freed or counted.
func TestCollectFollowsNoLinks(t *testing.T) {
	s := NewStore(t.TempDir())
	id, victim := longOver(t, s, "victim", 3)
	_, dir := longOver(t, s, "links", 0)
	outside := t.TempDir()
	checkpoint(t, outside, 1)
	checkpoint(t, outside, 2)
	for name, to := range map[string]string{
		protocol.CheckpointDir: filepath.Join("..", id, protocol.CheckpointDir), "out": outside, "cycle": ".", "up": "..", "huge": "/dev/zero",
		".x.0123456789ab": filepath.Join(victim, protocol.RunFile),
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, g := range collect(t, s, CollectOptions{Delete: true, KeepLast: 3}) {
		t.Errorf("freed %s", g)
	}
	u, err := UsageOf(t.Context(), dir)
	if err != nil || u.Files > 30 || u.Checkpoints != 0 {
		t.Errorf("%+v, %v", u, err)
	}
	if got := collect(t, s, CollectOptions{Delete: true, KeepLast: 1}); len(got) != 2 {
		t.Errorf("of the run itself: %q", got)
	}
	if _, err := os.Stat(filepath.Join(outside, protocol.CheckpointDir, "step-1")); err != nil {
		t.Error(err)
	}
}

func TestUsage(t *testing.T) {
	s := NewStore(t.TempDir())
	_, dir := longOver(t, s, "x", 2)
	before, err := UsageOf(t.Context(), dir)
	if err != nil || before.Checkpoints < 20_000 || before.Bytes < before.Checkpoints {
		t.Fatalf("%+v, %v", before, err)
	}
	big := filepath.Join(dir, "log", "big")
	put(t, big, strings.Repeat("x", 100_000))
	if err := errors.Join(os.Link(big, filepath.Join(dir, "again")), os.WriteFile(filepath.Join(dir, "hole"), nil, 0o600),
		os.Truncate(filepath.Join(dir, "hole"), 1<<40)); err != nil {
		t.Fatal(err)
	}
	after, err := UsageOf(t.Context(), dir)
	if grown := after.Bytes - before.Bytes; err != nil || grown < 100_000 || grown > 130_000 {
		t.Errorf("grew by %d, %v", after.Bytes-before.Bytes, err)
	}
	if _, err := UsageOf(t.Context(), filepath.Join(dir, "hole")); err == nil {
		t.Error("a file was counted as a run")
	}
	if _, err := UsageOf(t.Context(), dir+"x"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	deep := dir
	for range maxUsageDepth + 5 {
		deep = filepath.Join(deep, "d")
	}
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := UsageOf(t.Context(), dir); err == nil {
		t.Error("folders without end were counted")
	}
}
