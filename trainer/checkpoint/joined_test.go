package checkpoint

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"boost-tui/runner/protocol"
)

// leave writes what a rank has of a checkpoint, as rank 0 or another one of its own host.
func leave(t testing.TB, dir string, step, rank, k int) {
	t.Helper()
	at, err := Begin(dir, step)
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewLayout([]Item{{Name: "w", DType: "F32", Shape: []int64{2, 2}, Part: Part{RowLo: rank, RowHi: rank + 1, ColLo: 0, ColHi: 2, Count: 2}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteShard(context.Background(), at, rank, l, make([]byte, l.Bytes())); err != nil {
		t.Fatal(err)
	}
	var m *Manifest
	if rank == 0 {
		m = &Manifest{Step: step, Run: "run"}
	}
	if err := Leave(dir, step, m, k); err != nil {
		t.Fatal(err)
	}
}

func TestPartsOfHostsMakeACheckpoint(t *testing.T) {
	hosts := []string{t.TempDir(), t.TempDir()}
	home := t.TempDir()
	for _, step := range []int{1, 2, 3} {
		for rank, dir := range hosts {
			leave(t, dir, step, rank, 2)
		}
	}
	for _, dir := range hosts {
		if steps, err := parts(Folder(dir)); err != nil || len(steps) != 2 || steps[0] != 2 {
			t.Errorf("parts that stay: %v, %v", steps, err)
		}
	}
	bring := func(from string, step int, name string) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(HostPart(from, step), name))
		if err == nil {
			err = os.MkdirAll(HostPart(home, step), 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(HostPart(home, step), name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	missing := func() {
		t.Helper()
		if err := Join(home, 2, 3, 2); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("parts are missing: %v", err)
		}
	}
	missing()
	bring(hosts[0], 3, "draft.json")
	bring(hosts[0], 3, shardName(0))
	bring(hosts[0], 3, sideName(0))
	missing()
	bring(hosts[1], 3, sideName(1))
	missing()
	bring(hosts[1], 3, shardName(1))
	if err := os.Truncate(filepath.Join(HostPart(home, 3), shardName(1)), 10); err != nil {
		t.Fatal(err)
	}
	missing()
	bring(hosts[1], 3, shardName(1))
	if err := Join(home, 2, 3, 2); err != nil {
		t.Fatal(err)
	}
	dir, skipped, err := Find(home)
	if err != nil || dir != Dir(home, 3) || len(skipped) > 0 {
		t.Fatalf("%s, %v, %v", dir, skipped, err)
	}
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	data := make([]byte, 16)
	if err := c.Read(data, "w", "F32", []int64{2, 2}, Whole(2, 2)); err != nil {
		t.Error(err)
	}
	missing() // it is joined, and its parts are gone
}

// Parts that cannot be joined now, because the disk is full, are joined when they can be; a checkpoint that is there already is left.
func TestJoinIsTriedAgain(t *testing.T) {
	home := t.TempDir()
	for _, step := range []int{1, 2, 3} {
		for rank := range 2 {
			leaveBeside(t, home, step, rank)
		}
	}
	if err := Join(home, 2, 1, 2); err != nil {
		t.Fatal(err)
	}
	// In the way of the manifest, as a full disk is.
	bar := filepath.Join(HostPart(home, 3), ManifestFile, "x")
	if err := os.MkdirAll(bar, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Join(home, 2, 3, 2); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("it was joined: %v", err)
	}
	if steps, err := parts(Folder(home)); err != nil || !slices.Equal(steps, []int{2, 3}) {
		t.Fatalf("parts %v, %v", steps, err)
	}
	if err := os.RemoveAll(filepath.Dir(bar)); err != nil {
		t.Fatal(err)
	}
	for _, step := range []int{3, 2} { // whichever comes first, the last two stay
		if err := Join(home, 2, step, 2); err != nil {
			t.Fatal(err)
		}
	}
	left := func() {
		t.Helper()
		entries, err := os.ReadDir(Folder(home))
		if err != nil || len(entries) != 2 || entries[0].Name() != "step-2" || entries[1].Name() != "step-3" {
			t.Errorf("%v, %v", entries, err)
		}
		if _, err := os.Lstat(filepath.Join(Dir(home, 3), protocol.CheckpointDraft)); err == nil {
			t.Error("the draft is still there")
		}
	}
	left()
	for rank := range 2 {
		leaveBeside(t, home, 3, rank)
	}
	if err := Join(home, 2, 3, 2); err != nil {
		t.Error(err)
	}
	left()
}

// leaveBeside puts what a rank has of a checkpoint beside what the ranks of other hosts have.
func leaveBeside(t testing.TB, home string, step, rank int) {
	t.Helper()
	dir := t.TempDir()
	leave(t, dir, step, rank, 1)
	if err := os.MkdirAll(HostPart(home, step), 0o700); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(HostPart(dir, step))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.Rename(filepath.Join(HostPart(dir, step), e.Name()), filepath.Join(HostPart(home, step), e.Name())); err != nil {
			t.Fatal(err)
		}
	}
}

// What a host says of a checkpoint makes one that can be read, or none.
func FuzzDraft(f *testing.F) {
	f.Add([]byte(`{"step":3,"run":"run"}`))
	f.Add([]byte(`{"step":3,"tensors":[{"name":"w","dtype":"F32","shape":[2,2]}]}`))
	f.Add([]byte(`{"step":4}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		home := t.TempDir()
		for rank := range 2 {
			leaveBeside(t, home, 3, rank)
		}
		if err := os.WriteFile(filepath.Join(HostPart(home, 3), protocol.CheckpointDraft), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if Join(home, 2, 3, 2) != nil {
			return
		}
		c, err := Open(Dir(home, 3))
		if err != nil {
			t.Fatalf("it cannot be read: %v", err)
		}
		if err := c.Close(); err != nil || c.Manifest.Step != 3 {
			t.Fatal(c.Manifest.Step, err)
		}
	})
}
