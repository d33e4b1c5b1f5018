package sweeps

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"boost-tui/runner"
	"boost-tui/sweeps/space"

	"golang.org/x/sys/unix"
)

// small mounts a file system of so many KiB, which takes root.
func small(t *testing.T, kib int) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dk", kib)); err != nil {
		t.Skipf("a small file system cannot be mounted here (%v): run this as root", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill leaves nothing free.
func fill(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "fill"))
	must(t, err)
	defer f.Close()
	for chunk := make([]byte, 4096); ; {
		if _, err := f.Write(chunk); err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
			return
		}
	}
}

// TestFullDisk: nothing is begun, what goes on can be ended, and why the sweep stopped is written down.
func TestFullDisk(t *testing.T) {
	root := small(t, 256)
	s, err := OpenFolder(runner.NewStore(root)).Create(file("full"), expansion(100, "a"), DefaultOptions(), nil)
	must(t, err)
	h := hold(t, s)
	must(t, h.Begin("a0000000", 1))
	fill(t, root)
	began := 1
	for err = nil; err == nil; began++ {
		err = h.Begin(fmt.Sprintf("a%07x", began), 1) // what is left of the journal's last block
	}
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free some space") {
		t.Fatal(err)
	}
	st := load(t, s)
	if p := st.Points[began-1]; p.Status != Queued || st.BadLines != 0 {
		t.Fatalf("%s is %s, %d bad lines", p.ID, p.Status, st.BadLines)
	}
	if err := s.Skip(slices.Repeat([]string{"a0000050"}, 20)); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	x := expansion(1, "b")
	if err := s.Grow(file("full"), x); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	must(t, h.End("a0000000", Attempt{N: 1, State: "failed", Cause: "the disk is full"}))
	must(t, h.Stop("the disk is full"))
	must(t, h.Release())
	if st = load(t, s); st.Phase != PhaseStopped || st.Cause != "the disk is full" || st.Point("a0000000").Status != Failed || st.BadLines != 0 || len(st.Keys) != 1 {
		t.Fatalf("%s %s, %d bad lines", st.Phase, st.Cause, st.BadLines)
	}
	if _, err := s.Hold(context.Background()); !errors.Is(err, syscall.ENOSPC) { // its own room is used up
		t.Fatal(err)
	}
	must(t, os.Remove(filepath.Join(root, "fill")))
	must(t, s.Resume("anna"))
	must(t, s.Grow(file("full"), x))
	h = hold(t, s)
	must(t, h.Begin(load(t, s).Queue[0].ID, 1))
}

// TestFullBeforeItIsMade: the sweep appears whole or not at all.
func TestFullBeforeItIsMade(t *testing.T) {
	for _, kib := range []int{4, 8, 16} {
		root := small(t, kib)
		f := OpenFolder(runner.NewStore(root))
		_, err := f.Create(file("full"), expansion(100, "a"), DefaultOptions(), nil)
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "--runs") {
			t.Errorf("%d KiB: %v", kib, err)
		}
		if entries, _ := os.ReadDir(f.Root); len(entries) != 0 {
			t.Errorf("%d KiB: left %v", kib, entries)
		}
	}
}

// TestReadOnly: who may only read sees everything and is told why nothing can be changed.
func TestReadOnly(t *testing.T) {
	root := small(t, 256)
	f := OpenFolder(runner.NewStore(root))
	s, err := f.Create(file("ro"), expansion(3, "a"), DefaultOptions(), nil)
	must(t, err)
	must(t, unix.Mount("", root, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	if st := load(t, s); len(st.Points) != 3 {
		t.Fatal(st)
	}
	if infos, errs := f.List(context.Background()); len(infos) != 1 || len(errs) != 0 {
		t.Fatal(infos, errs)
	}
	for name, err := range map[string]error{
		"pause": s.Pause("x", false), "hold": func() error { _, err := s.Hold(context.Background()); return err }(),
		"grow": s.Grow(file("x"), expansion(4, "a")), "create": func() error { _, err := f.Create(file("x"), expansion(1, "a"), DefaultOptions(), nil); return err }(),
	} {
		if !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), "write") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNewerPrograms: what a newer one wrote is not guessed at, except lines of kinds that are only unknown.
func TestNewerPrograms(t *testing.T) {
	s := create(t, 2)
	add := func(l string) {
		f, err := os.OpenFile(filepath.Join(s.Dir, JournalFile), os.O_WRONLY|os.O_APPEND, 0)
		must(t, err)
		_, err = f.WriteString(l + "\n")
		must(t, errors.Join(err, f.Close()))
	}
	add(`{"t":1,"k":"teleport","to":"mars"}`)
	if st := load(t, s); st.BadLines != 0 {
		t.Errorf("%d bad lines", st.BadLines)
	}
	f := s.Follow()
	_, _, err := f.Next()
	must(t, err)
	add(`{"t":1,"k":{"new":"shape"},"schema":2}`)
	newer := map[string]error{}
	_, newer["load"] = s.Load(context.Background())
	_, _, newer["next"] = f.Next()
	_, newer["hold"] = s.Hold(context.Background())
	newer["pause"] = s.Pause("x", false)
	for name, err := range newer {
		if !errors.Is(err, runner.ErrNewerSchema) || !strings.Contains(err.Error(), "update") {
			t.Errorf("%s: %v", name, err)
		}
	}
	s = create(t, 2)
	must(t, os.WriteFile(filepath.Join(s.Dir, planFile(0)), []byte(`{"schema":2,"points":"other"}`), 0o600))
	if _, err := s.Load(context.Background()); !errors.Is(err, runner.ErrNewerSchema) {
		t.Error(err)
	}
}

// TestDamaged: what cannot be read is named, hangs nobody, and spoils no list.
func TestDamaged(t *testing.T) {
	edited := func(edit func(*plan)) func(string) error {
		return func(dir string) error {
			p, err := readPlan(dir, 0)
			if err != nil {
				return err
			}
			edit(&p)
			data, err := json.Marshal(p)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, planFile(0)), data, 0o600)
		}
	}
	swap := func(name string, with func(path string) error) func(string) error {
		return func(dir string) error {
			path := filepath.Join(dir, name)
			return errors.Join(os.Remove(path), with(path))
		}
	}
	fifo := func(path string) error { return unix.Mkfifo(path, 0o600) }
	for name, c := range map[string]struct {
		do   func(dir string) error
		says string
	}{
		"no plan":                        {func(dir string) error { return os.Remove(filepath.Join(dir, planFile(0))) }, "missing"},
		"half a plan":                    {func(dir string) error { return os.Truncate(filepath.Join(dir, planFile(0)), 100) }, "damaged"},
		"a FIFO for a plan":              {swap(planFile(0), fifo), "regular"},
		"a FIFO":                         {swap(JournalFile, fifo), "regular"},
		"a link":                         {swap(JournalFile, func(p string) error { return os.Symlink("/etc/passwd", p) }), "link"},
		"a huge line":                    {func(dir string) error { return os.Truncate(filepath.Join(dir, JournalFile), 9<<20) }, "a line of more than"},
		"a huge journal":                 {func(dir string) error { return os.Truncate(filepath.Join(dir, JournalFile), maxJournalBytes+1) }, "more than"},
		"a path for an id":               {edited(func(p *plan) { p.Points[0].ID = "../../x" }), "not the id"},
		"an id twice":                    {edited(func(p *plan) { p.Points[1].ID = p.Points[0].ID }), "twice"},
		"no ranks":                       {edited(func(p *plan) { p.Points[0].Ranks = 0 }), "makes no sense"},
		"a value that steers a terminal": {edited(func(p *plan) { p.Points[0].Set[0].Value = "\x1b]52;c;x\a" }), "steer"},
		"a base that steers a terminal":  {edited(func(p *plan) { p.Base.Train.Data = "a\u202eb" }), "steer"},
		"a twin's path":                  {edited(func(p *plan) { p.Points[0].Full = "/etc" }), "twin"},
	} {
		s := create(t, 2)
		must(t, c.do(s.Dir))
		done := make(chan error, 1)
		go func() {
			_, err := s.Load(context.Background())
			_, herr := s.Hold(context.Background())
			done <- errors.Join(err, herr, s.Pause("x", true))
		}()
		select {
		case err := <-done:
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.ContainsRune(err.Error(), 0x1b) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: it hangs", name)
		}
	}
}

// TestHostileText comes from another user's folder and ends on a terminal.
func TestHostileText(t *testing.T) {
	x := expansion(2, "a")
	evil := "a\x1b[2Jb\nc\u202ed"
	x.Points[0].Label, x.Pruned[0].Reason, x.Keys[0] = evil, evil, evil
	f := file(evil)
	s, err := OpenFolder(runner.NewStore(t.TempDir())).Create(f, x, DefaultOptions(), []string{evil})
	must(t, err)
	h := hold(t, s)
	must(t, h.Note(evil))
	must(t, h.Begin("a0000000", 1))
	for _, run := range []string{"../x", "a/b", "", evil} {
		if err := h.Began("a0000000", 1, run); err == nil {
			t.Errorf("run %q", run)
		}
	}
	must(t, h.End("a0000000", Attempt{N: 1, State: "failed", Cause: evil, Rule: evil}))
	must(t, s.Pause(evil, false))
	st := load(t, s)
	for _, text := range []string{st.ID, st.Name, st.Cause, st.Argv[0], st.Axes[0], st.Points[0].Label, st.Points[0].Cause, st.Points[0].Attempts[0].Cause, st.Points[0].Attempts[0].Rule, st.Pruned[0].Reason, st.Notes[0].Text} {
		if runner.Clean(text) != text || text == "" {
			t.Errorf("%q", text)
		}
	}
}

// TestAnotherUsersSweep is looked at, never run.
func TestAnotherUsersSweep(t *testing.T) {
	s := create(t, 2)
	if err := os.Chown(s.Dir, 12345, 12345); err != nil {
		t.Skip("only root can give a folder away")
	}
	if _, err := s.Hold(context.Background()); err == nil || !strings.Contains(err.Error(), "another user") {
		t.Error(err)
	}
	if _, ok, err := (&Folder{Root: filepath.Dir(s.Dir)}).Same(file("Try it").Spec.Key()); ok || err != nil {
		t.Error(ok, err)
	}
}

// TestStoppedAppender is a program that was stopped (SIGSTOP) while it appends: the others say so and do not hang.
func TestStoppedAppender(t *testing.T) {
	s := create(t, 2)
	f, err := os.OpenFile(filepath.Join(s.Dir, JournalFile), os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	must(t, lock(f, 0))
	g, err := os.OpenFile(filepath.Join(s.Dir, JournalFile), os.O_RDWR, 0)
	must(t, err)
	defer g.Close()
	if err := lock(g, 50*time.Millisecond); !errors.Is(err, unix.EWOULDBLOCK) || !strings.Contains(err.Error(), "stopped") {
		t.Error(err)
	}
}

// TestGrowAfterACrash finds the plan of a program that was killed before its line: it never belonged to the sweep.
func TestGrowAfterACrash(t *testing.T) {
	s := create(t, 2)
	must(t, os.WriteFile(filepath.Join(s.Dir, planFile(1)), []byte("{half"), 0o600))
	if st := load(t, s); len(st.Points) != 2 {
		t.Fatal(len(st.Points))
	}
	x := expansion(4, "a")
	x.Points[1].Vanilla = "a0000003"
	must(t, s.Grow(file("more"), x))
	st := load(t, s)
	if len(st.Points) != 4 || st.Points[3].Plan != 1 || st.Points[1].Vanilla != "a0000003" || len(st.Pruned) != 2 && len(st.Pruned) != 1 {
		t.Fatalf("%+v", st.Points[1])
	}
	toml, err := os.ReadFile(filepath.Join(s.Dir, TOMLFile))
	if err != nil || string(toml) != st.TOML || !strings.Contains(st.TOML, "more") {
		t.Errorf("%q, %v", toml, err)
	}
	x = expansion(5, "a")
	x.Base.Train.LR = 1
	if err := s.Grow(file("more"), x); err == nil || !strings.Contains(err.Error(), "[set]") {
		t.Error(err)
	}
}

func TestFindPoint(t *testing.T) {
	s := create(t, 3)
	h := hold(t, s)
	must(t, h.Begin("a0000001", 1))
	must(t, h.Began("a0000001", 1, "20261129-1-tiny-k3fz"))
	st := load(t, s)
	for _, word := range []string{"a0000001", "btp tp 2 rank 33", "20261129-1-tiny-k3fz", "k3fz"} {
		if p, err := st.FindPoint(word); err != nil || p.ID != "a0000001" {
			t.Errorf("%s: %v", word, err)
		}
	}
	for word, says := range map[string]string{"a": "fits 3", "": "no point", "zz": "no point"} {
		if _, err := st.FindPoint(word); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", word, err)
		}
	}
}

func TestOptionsSayAllThatIsWrong(t *testing.T) {
	o := Options{Order: "x\x1b[0m", MaxTime: -1, MaxDeviceHours: -1, MaxFailures: -1, Retries: -1}
	err := o.Check()
	for _, key := range []string{"order", "at-once", "max-time", "max-device-hours", "max-failures", "retries"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
	if strings.Contains(err.Error(), "\x1b") {
		t.Error("it steers the terminal")
	}
	must(t, DefaultOptions().Check())
	want := DefaultOptions()
	want.Order, want.AtOnce, want.StopSlower = OrderRandom, 3, true
	if got := DefaultOptions().With(want.File()); got != want || DefaultOptions().With(space.FileOptions{}) != DefaultOptions() {
		t.Errorf("%+v", got)
	}
}

func TestListOfHundreds(t *testing.T) {
	folder := OpenFolder(runner.NewStore(t.TempDir()))
	for range 100 {
		if _, err := folder.Create(file("many"), expansion(8, "a"), DefaultOptions(), nil); err != nil {
			t.Fatal(err)
		}
	}
	bad := folder.sweep("20200101-000000-bad-aaaa")
	must(t, os.Mkdir(bad.Dir, 0o700))
	must(t, os.WriteFile(filepath.Join(bad.Dir, JournalFile), []byte(`{"schema":9}`+"\n"), 0o600))
	for _, name := range []string{"cold", "warm"} {
		start := time.Now()
		infos, errs := folder.List(context.Background())
		t.Logf("%s: %s", name, time.Since(start))
		if len(infos) != 101 || len(errs) != 1 || infos[0].Err == nil || infos[100].Points != 8 {
			t.Fatal(len(infos), errs)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, errs := folder.List(ctx); len(errs) != 1 || !errors.Is(errs[0], context.Canceled) {
		t.Error(errs)
	}
}

func FuzzPlan(f *testing.F) {
	p := newPlan(file("x"), expansion(2, "a"))
	good, err := p.encode()
	must(f, err)
	f.Add(good)
	f.Add([]byte(`{"schema":1,"points":[{"id":"a","ranks":1,"label":"\u001b[0m"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parsePlan(data)
		if err != nil {
			return
		}
		must(t, p.check())
		for _, q := range p.Points {
			if strings.ContainsRune(q.Label, 0x1b) || runner.CheckID(q.ID) != nil {
				t.Fatalf("%+v", q)
			}
		}
		r := newReplay(func(int) (plan, error) { return p, nil })
		must(t, r.plan(&line{}))
		must(t, CheckLegal(r.snapshot("/s/id", presence{}, time.Unix(1e9, 0))))
	})
}
