package runner

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"boost-tui/runner/protocol"

	"golang.org/x/sys/unix"
)

// later is a time from which files that were written just now are settled.
func later() time.Time { return time.Now().Add(settled + time.Second) }

// plainly lists a store without its index.
func plainly(t testing.TB, root string) []Info {
	t.Helper()
	s := NewStore(root)
	s.index.loaded = true
	l, err := s.look(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	infos := make([]Info, 0, len(l.ids))
	for _, id := range l.ids {
		infos = append(infos, l.info(id))
	}
	infos, _ = listed(infos)
	return infos
}

func same(t testing.TB, what string, got, want []Info) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d runs, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("%s:\n%+v\nwant\n%+v", what, got[i], want[i])
		}
	}
}

func TestIndexHoldsWhatTheFilesSay(t *testing.T) {
	root := t.TempDir()
	many(t, NewStore(root), indexFrom+8)
	if infos, errs := NewStore(root).list(t.Context(), later()); len(infos) != indexFrom+8 || errs != nil {
		t.Fatal(len(infos), errs)
	}
	st, err := os.Stat(filepath.Join(root, indexFile))
	if err != nil || st.Mode().Perm() != protocol.FileMode {
		t.Fatalf("no private index: %v", err)
	}
	s := NewStore(root)
	l, err := s.look(later())
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	if len(s.index.entries) != indexFrom+8 {
		t.Fatalf("the index has %d entries", len(s.index.entries))
	}
	want := plainly(t, root)
	for _, w := range want {
		got := l.info(w.ID)
		if !reflect.DeepEqual(got, w) {
			t.Fatalf("%+v\nwant\n%+v", got, w)
		}
	}
	if l.fresh.n != 0 {
		t.Errorf("%d runs were read although the index knows them", l.fresh.n)
	}
}

// change does something to a store that a list must show, in a way that is easily missed.
func change(t *testing.T, root, id string, r *rand.Rand) string {
	dir := filepath.Join(root, id)
	result := func(state State) []byte {
		return fmt.Appendf(nil, `{"schema":1,"state":%q,"ranks":[],"cause":"%d"}`, state, r.IntN(10))
	}
	var err error
	var what string
	switch what = []string{"tag", "archive", "result", "in place", "times back", "gone", "swapped", "no result", "trash"}[r.IntN(9)]; what {
	case "tag":
		err = NewStore(root).Tag(id, []string{fmt.Sprint("t", r.IntN(1000))}, nil)
	case "archive":
		err = NewStore(root).Archive(id, r.IntN(2) == 0)
	case "result":
		err = protocol.WriteFile(filepath.Join(dir, protocol.ResultFile), result(Failed))
	case "in place":
		err = os.WriteFile(filepath.Join(dir, protocol.ResultFile), result(Cancelled), 0o600)
	case "times back": // as an archive that is unpacked gives them
		old := time.Unix(1_700_000_000, 0)
		err = errors.Join(protocol.WriteFile(filepath.Join(dir, protocol.ResultFile), result(Lost)), os.Chtimes(filepath.Join(dir, protocol.ResultFile), old, old),
			os.Chtimes(dir, old, old))
	case "gone":
		err = os.RemoveAll(dir)
	case "swapped": // another run of the same id
		err = errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(filepath.Join(root, "spare"))))
	case "no result":
		if err = os.Remove(filepath.Join(dir, protocol.ResultFile)); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	case "trash":
		_, err = NewStore(root).Trash(id)
	}
	if err != nil {
		t.Logf("%s %s: %v", what, id, err)
	}
	return what
}

// Whatever happens to a store, in whatever order, a program that knows it by the index, one that has it in memory, and one
// that reads everything see the same.
func TestIndexNeverLies(t *testing.T) {
	root := t.TempDir()
	many(t, NewStore(root), 2*indexFrom)
	spare := NewStore(t.TempDir())
	run, dir := create(t, spare, "spare")
	put(t, filepath.Join(dir, protocol.ResultFile), `{"schema":1,"state":"failed","cause":"spare","ranks":[]}`)
	if err := os.CopyFS(filepath.Join(root, "spare"), os.DirFS(spare.Dir(run.ID))); err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	follower := NewStore(root)
	for round := range 60 {
		if _, errs := NewStore(root).list(t.Context(), later()); round == 0 && errs != nil { // writes the index where much is new
			t.Fatal(errs)
		}
		want := plainly(t, root)
		var done []string
		for range 1 + r.IntN(4) {
			if id := want[r.IntN(len(want))].ID; id != "spare" {
				done = append(done, change(t, root, id, r))
			}
		}
		want = plainly(t, root)
		byIndex, _ := NewStore(root).list(t.Context(), later())
		same(t, fmt.Sprint("by the index, after ", done), byIndex, want)
		if round%7 == 6 {
			time.Sleep(20 * time.Millisecond)
		}
		follower.cache.age() // as if lookAgain had passed: in-place changes are seen from then on
		inMemory, _ := follower.list(t.Context(), later())
		same(t, fmt.Sprint("in memory, after ", done), inMemory, want)
	}
}

// age makes everything that is kept due for another look.
func (c *cache) age() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, e := range c.runs {
		older := *e
		older.looked = e.looked.Add(-lookAgain)
		c.runs[id] = &older
	}
}

func TestDamagedIndexIsNone(t *testing.T) {
	root := t.TempDir()
	many(t, NewStore(root), indexFrom+1)
	NewStore(root).list(t.Context(), later())
	path := filepath.Join(root, indexFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := plainly(t, root)
	for name, spoil := range map[string]func() error{
		"empty":   func() error { return os.WriteFile(path, nil, 0o600) },
		"cut":     func() error { return os.WriteFile(path, whole[:len(whole)/2], 0o600) },
		"a bit":   func() error { b := append([]byte{}, whole...); b[len(b)/2] ^= 1; return os.WriteFile(path, b, 0o600) },
		"another": func() error { return os.WriteFile(path, []byte("SQLite format 3"), 0o600) },
		"folder":  func() error { return os.Mkdir(path, 0o700) },
		"FIFO":    func() error { return unix.Mkfifo(path, 0o600) },
		"link":    func() error { return os.Symlink("/etc/passwd", path) },
		"shared":  func() error { return errors.Join(os.WriteFile(path, whole, 0o600), os.Chmod(path, 0o666)) },
	} {
		if err := errors.Join(os.RemoveAll(path), spoil()); err != nil {
			t.Fatal(err)
		}
		got, errs := NewStore(root).list(t.Context(), later())
		if errs != nil {
			t.Errorf("%s: %v", name, errs)
		}
		same(t, name, got, want)
	}
	if data, err := os.ReadFile("/etc/passwd"); err != nil || len(data) == 0 || string(data[:5]) == indexMagic[:5] {
		t.Error("an index was written through a link")
	}
}

// Programs that list and write the index at the same time as others change the store.
func TestIndexOfManyPrograms(t *testing.T) {
	root := t.TempDir()
	many(t, NewStore(root), 2*indexFrom)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 8 {
				s := NewStore(root)
				s.index.loaded = true // so that it writes one
				if infos, _ := s.list(t.Context(), later()); len(infos) != 2*indexFrom {
					t.Errorf("%d runs", len(infos))
				}
			}
		})
	}
	wg.Go(func() {
		s := NewStore(root)
		infos := plainly(t, root)
		for i := range 20 {
			if err := s.Tag(infos[i].ID, []string{"x"}, nil); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	got, _ := NewStore(root).list(t.Context(), later())
	same(t, "afterwards", got, plainly(t, root))
	if left, _ := filepath.Glob(filepath.Join(root, indexFile+".*")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func FuzzParseIndex(f *testing.F) {
	root := f.TempDir()
	many(f, NewStore(root), 2)
	var c cache
	for _, in := range plainly(f, root) {
		c.put(in.ID, packed(prints{}, &in))
	}
	data := c.encode(root)
	f.Add(data[len(indexHead(root, 0)) : len(data)-4])
	f.Add([]byte("\x05abcde"))
	f.Fuzz(func(t *testing.T, body []byte) {
		entries, err := parseIndex(string(sealed(append(indexHead(root, indexCodec().Layout()), body...))), root)
		x := index{entries: entries}
		for id, e := range entries {
			if len(id)+len(e.data) > len(body) || err != nil {
				t.Fatal("more than there is")
			}
			var p prints
			x.entries[id] = entry{p.sum(), e.data}
			_, _ = unpack(x.take(id, &p), &indexed{})
		}
	})
}

func BenchmarkList5000(b *testing.B) {
	root := b.TempDir()
	many(b, NewStore(root), 5000)
	NewStore(root).list(b.Context(), later())
	for _, c := range []struct {
		name string
		open func() *Store
	}{
		{"cold", func() *Store { s := NewStore(root); s.index.loaded = true; return s }},
		{"warm", func() *Store { return NewStore(root) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if infos, errs := c.open().list(b.Context(), later()); len(infos) != 5000 || errs != nil {
					b.Fatal(len(infos), errs)
				}
			}
		})
	}
	b.Run("again", func(b *testing.B) {
		s := NewStore(root)
		for b.Loop() {
			if infos, errs := s.list(b.Context(), later()); len(infos) != 5000 || errs != nil {
				b.Fatal(len(infos), errs)
			}
		}
	})
}
