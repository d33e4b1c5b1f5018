package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"boost-tui/runner/protocol"
)

// finished makes a finished run.
func finished(t *testing.T, s *Store, name string) (id, dir string) {
	t.Helper()
	r, dir := create(t, s, name)
	finish(t, dir)
	return r.ID, dir
}

func TestDeletedRunsComeBack(t *testing.T) {
	s := NewStore(t.TempDir())
	a, dirA := finished(t, s, "a")
	b, _ := finished(t, s, "b")
	c, _ := finished(t, s, "c")
	if err := errors.Join(s.Tag(a, []string{"keep"}, nil), s.Note(a, "why"), s.Archive(a, true)); err != nil {
		t.Fatal(err)
	}
	before, err := s.Load(a)
	if err != nil {
		t.Fatal(err)
	}
	if done, err := s.Trash(c); err != nil || len(done) != 1 {
		t.Fatal(done, err)
	}
	if done, err := s.Trash(a, b); err != nil || !slices.Equal(done, []string{a, b}) {
		t.Fatal(done, err)
	}
	if infos, errs := s.List(t.Context()); len(infos) != 0 || errs != nil {
		t.Fatalf("%d runs left, %v", len(infos), errs)
	}
	if _, err := s.Load(a); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "runs undo") {
		t.Errorf("asked for: %v", err)
	}
	deleted, err := s.Deleted(t.Context())
	if err != nil || len(deleted) != 3 || deleted[2].ID != c || deleted[0].When.IsZero() {
		t.Fatalf("%+v, %v", deleted, err)
	}
	done, err := s.Undo(t.Context()) // those that were deleted last, together
	if slices.Sort(done); err != nil || len(done) != 2 || slices.Contains(done, c) {
		t.Fatal(done, err)
	}
	after, err := s.Load(a)
	if err != nil || after.Note != before.Note || !slices.Equal(after.Tags, before.Tags) || !after.Archived || after.State != Finished || after.Dir != dirA {
		t.Errorf("%+v, %v", after, err)
	}
	if _, err := os.Lstat(filepath.Join(dirA, deletedFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s stayed: %v", deletedFile, err)
	}
	if done, err := s.Undo(t.Context(), c[len(c)-4:]); err != nil || !slices.Equal(done, []string{c}) {
		t.Error(done, err)
	}
	if _, err := s.Undo(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("undo of nothing: %v", err)
	}
}

func TestWhatIsAliveIsNotDeleted(t *testing.T) {
	s := NewStore(t.TempDir())
	pending, dir := create(t, s, "pending")
	if _, err := s.Trash(pending.ID); err == nil || !strings.Contains(err.Error(), "cancel") {
		t.Errorf("pending: %v", err)
	}
	me, err := self()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := claim(dir, me); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Trash(pending.ID); err == nil || !strings.Contains(err.Error(), "running") {
		t.Errorf("running: %v", err)
	}
	good, _ := finished(t, s, "over")
	if done, err := s.Trash(pending.ID, good); err == nil || !slices.Equal(done, []string{good}) {
		t.Errorf("of two, one alive: %v, %v", done, err)
	}
}

func TestTrashOfSomebodyElse(t *testing.T) {
	s := NewStore(t.TempDir())
	id, _ := finished(t, s, "x")
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(s.Root, trashFolder)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Trash(id); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) != 0 {
		t.Errorf("moved through a link: %v, %v", left, err)
	}
	if done, err := s.Undo(t.Context()); err != nil || len(done) != 1 {
		t.Error(done, err)
	}
}

// Two runs of one id: neither deleting nor bringing back replaces the other.
func TestTrashReplacesNothing(t *testing.T) {
	s := NewStore(t.TempDir())
	id, dir := finished(t, s, "x")
	twin := func() error { return os.CopyFS(dir, os.DirFS(filepath.Join(s.Root, trashFolder, id))) }
	if _, err := s.Trash(id); err != nil {
		t.Fatal(err)
	}
	if err := twin(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Undo(t.Context(), id); err == nil {
		t.Error("a run was replaced by one that came back")
	}
	if _, err := s.Trash(id); err == nil {
		t.Error("a run in the trash was replaced")
	}
	if in, err := s.Load(id); err != nil || in.State != Finished {
		t.Errorf("%s, %v", in.State, err)
	}
}

// What lies in the trash without a record of its deletion was deleted when it was moved there.
func TestDeletionWithoutARecord(t *testing.T) {
	s := NewStore(t.TempDir())
	id, _ := finished(t, s, "x")
	if _, err := s.Trash(id); err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(s.Root, trashFolder, id, deletedFile)
	for _, text := range []string{"", "{", `{"time":"\u001b[31m"}`} {
		put(t, record, text)
		if d, err := s.Deleted(t.Context()); err != nil || len(d) != 1 || d[0].When.IsZero() {
			t.Errorf("%q: %+v, %v", text, d, err)
		}
	}
	if err := os.Remove(record); err != nil {
		t.Fatal(err)
	}
	if done, err := s.Undo(t.Context()); err != nil || len(done) != 1 {
		t.Error(done, err)
	}
}

func TestArchiveKeepsTagsAndNote(t *testing.T) {
	s := NewStore(t.TempDir())
	id, dir := finished(t, s, "x")
	if err := errors.Join(s.Tag(id, []string{"a"}, nil), s.Archive(id, true), s.Note(id, "n"), s.Tag(id, []string{"b"}, nil)); err != nil {
		t.Fatal(err)
	}
	if in, err := s.Load(id); err != nil || !in.Archived || in.Note != "n" || !slices.Equal(in.Tags, []string{"a", "b"}) {
		t.Errorf("%+v, %v", in, err)
	}
	put(t, filepath.Join(dir, protocol.NotesFile), `{"schema":1,"tags":["`+strings.Repeat("x", maxTagBytes+1)+`"]}`)
	if in, err := s.Load(id); err != nil || in.Err == nil || len(in.Tags) != 0 && in.Tags[0] != "" && len(in.Tags[0]) > maxTagBytes {
		t.Errorf("an endless tag: %+v, %v", in.Tags, in.Err)
	}
	if err := s.Archive(id, false); err == nil {
		t.Error("notes that cannot be read were replaced")
	}
}

// Programs that change the notes of one run at once undo nothing of each other's.
func TestNotesOfManyPrograms(t *testing.T) {
	root := t.TempDir()
	id, _ := finished(t, NewStore(root), "x")
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			s := NewStore(root)
			for n := range 8 {
				if err := s.Tag(id, []string{fmt.Sprint("t", i, "-", n)}, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		if err := errors.Join(NewStore(root).Note(id, "kept"), NewStore(root).Archive(id, true)); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
	if in, err := NewStore(root).Load(id); err != nil || len(in.Tags) != 32 || in.Note != "kept" || !in.Archived {
		t.Errorf("%d tags, note %q, archived %t, %v", len(in.Tags), in.Note, in.Archived, err)
	}
}
