package runner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"boost-tui/runner/protocol"
)

// Programs that delete runs, bring them back and collect the store at once: a run deleted lately is in the store or in the trash,
// whole.
func TestCollectWhileRunsComeAndGo(t *testing.T) {
	root := t.TempDir()
	s := NewStore(root)
	const runs = 8
	var ids []string
	for range runs {
		id, _ := longOver(t, s, "moves", 2)
		ids = append(ids, id)
	}
	over := time.Now().Add(1500 * time.Millisecond)
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			s := NewStore(root)
			for time.Now().Before(over) {
				switch i % 3 { // what fails has lost against another: only what is left at the end counts
				case 0:
					_, _ = s.Trash(ids...)
				case 1:
					_, _ = s.Undo(t.Context())
				case 2:
					found, _ := s.Collect(t.Context(), CollectOptions{Delete: true, TrashAge: TrashAge, KeepLast: 2})
					for _, g := range found {
						t.Errorf("freed %s: %s", g.Path, g.Why)
					}
				}
			}
		})
	}
	wg.Wait()
	for range runs * 2 {
		if _, err := s.Undo(t.Context()); errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	for _, id := range ids {
		for _, file := range []string{protocol.RunFile, protocol.ResultFile, "ckpt/step-2/r00000.safetensors"} {
			if _, err := os.Lstat(filepath.Join(s.Dir(id), file)); err != nil {
				t.Error(err)
			}
		}
	}
	if left, err := os.ReadDir(filepath.Join(root, trashFolder)); err != nil || len(left) != 0 {
		t.Errorf("in the trash: %v, %v", left, err)
	}
}

// What moved while it was looked for goes back to its name.
func TestCollectPutsBackWhatWasNotMeant(t *testing.T) {
	s := NewStore(t.TempDir())
	id, _ := longOver(t, s, "old", 0)
	if _, err := s.Trash(id); err != nil {
		t.Fatal(err)
	}
	trash := filepath.Join(s.Root, trashFolder)
	path := filepath.Join(trash, id)
	old, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(path, deletedFile), `{"time":"2001-01-01T00:00:00Z"}`)
	twin := filepath.Join(trash, "twin") // another folder at the name, as old
	if err := errors.Join(os.CopyFS(twin, os.DirFS(path)), os.Rename(path, filepath.Join(s.Root, "elsewhere")), os.Rename(twin, path)); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(s.Root)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	c := &collector{ctx: t.Context(), store: s, root: root, o: CollectOptions{Delete: true, TrashAge: time.Hour}, me: here(), now: time.Now(), fsNow: time.Now()}
	c.deleted(root, trashFolder, id, old)
	if len(c.found) != 0 || len(c.errs) != 0 {
		t.Errorf("%v, %v", c.found, c.errs)
	}
	if _, err := s.Undo(t.Context(), id); err != nil {
		t.Error(err)
	}
}

func TestCollectLeftovers(t *testing.T) {
	s := NewStore(t.TempDir())
	id, _ := longOver(t, s, "checked", 0)
	if _, err := s.Trash(id); err != nil {
		t.Fatal(err)
	}
	trash := filepath.Join(s.Root, trashFolder)
	me, err := self()
	if err != nil {
		t.Fatal(err)
	}
	mine := me.mark() + "-" + newBatch() + "-"
	me.StartTicks++ // a process that is gone
	gone := me.mark() + "-" + newBatch() + "-"
	for _, name := range []string{"young", gonePrefix + gone + "x", gonePrefix + mine + "x"} {
		if err := os.Mkdir(filepath.Join(trash, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(filepath.Join(trash, id), filepath.Join(trash, checkPrefix+gone+id)); err != nil {
		t.Fatal(err)
	}
	found, errs := s.Collect(t.Context(), CollectOptions{Delete: true, TrashAge: time.Hour, KeepLast: 1})
	if errs != nil || len(found) != 1 || !strings.HasPrefix(filepath.Base(found[0].Path), gonePrefix+gone) {
		t.Errorf("%+v, %v", found, errs)
	}
	if done, err := s.Undo(t.Context()); err != nil || !slices.Equal(done, []string{id}) {
		t.Error(done, err)
	}
	for _, name := range []string{"young", gonePrefix + mine + "x"} {
		if _, err := os.Lstat(filepath.Join(trash, name)); err != nil {
			t.Error(err)
		}
	}
}

// A checkpoint that something began to start from meanwhile gets its name back.
func TestCollectGivesACheckpointBack(t *testing.T) {
	s := NewStore(t.TempDir())
	id, dir := longOver(t, s, "resumed", 2)
	root, err := os.OpenRoot(s.Root)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	c := &collector{ctx: t.Context(), store: s, root: root, o: CollectOptions{Delete: true, KeepLast: 1}, me: here(), now: time.Now(), fsNow: time.Now()}
	in, err := s.Load(id)
	if err != nil {
		t.Fatal(err)
	}
	c.run(&in, false)
	e := testExperiment("goes on", 2)
	e.Train.Resume = filepath.Join(dir, protocol.CheckpointDir, "step-1")
	if _, _, err := s.Create(e, CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if c.withdrawn(); len(c.found) != 0 || len(c.errs) != 0 || len(c.aside) != 1 {
		t.Errorf("%v, %v, %v", c.found, c.errs, c.aside)
	}
	if _, err := os.Stat(filepath.Join(e.Train.Resume, manifestFile)); err != nil {
		t.Error(err)
	}
}

// A folder whose file is being written is not idle, however old its name is.
func TestCollectKeepsWhatIsBeingWritten(t *testing.T) {
	s := NewStore(t.TempDir())
	_, dir := longOver(t, s, "writes", 0)
	half := filepath.Join(dir, protocol.CheckpointDir, protocol.CheckpointAside+"9")
	if err := os.MkdirAll(half, 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(half, "part"), "x")
	aged(t, half)
	if got := collect(t, s, CollectOptions{Delete: true, KeepLast: 1}); len(got) != 0 {
		t.Errorf("freed %q", got)
	}
}
