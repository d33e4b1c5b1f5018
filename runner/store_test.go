package runner

import (
	"encoding/json"
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

func create(t testing.TB, s *Store, name string) (Run, string) {
	t.Helper()
	r, dir, err := s.Create(testExperiment(name, 2), CreateOptions{Argv: []string{"boost-tui", "run"}})
	if err != nil {
		t.Fatal(err)
	}
	return r, dir
}

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func finish(t testing.TB, dir string) {
	t.Helper()
	if err := writeResult(dir, Result{State: Finished, Ended: time.Now()}); err != nil {
		t.Fatal(err)
	}
}

func TestDefaultRoot(t *testing.T) {
	for _, c := range []struct{ flag, runs, scratch, xdg, home, want string }{
		{"/a", "/b", "/c", "/d", "/e", "/a"},
		{"", "/b", "/c", "/d", "/e", "/b"},
		{"", "", "/c", "/d", "/e", "/c/boost-tui/runs"},
		{"", "", "", "/d", "/e", "/d/boost-tui/runs"},
		{"", "", "", "relative", "/e", "/e/.local/share/boost-tui/runs"},
		{"", "", "", "", "/e", "/e/.local/share/boost-tui/runs"},
		{"", "", "", "", "", ""},
	} {
		for k, v := range map[string]string{"BOOST_RUNS": c.runs, "SCRATCH": c.scratch, "XDG_DATA_HOME": c.xdg, "HOME": c.home} {
			t.Setenv(k, v)
		}
		got, err := DefaultRoot(c.flag)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}

func TestIDs(t *testing.T) {
	e := testExperiment("x", 2)
	id, err := newID(time.Date(2026, 11, 29, 15, 20, 49, 0, time.FixedZone("", 3600)), e)
	if err != nil || !strings.HasPrefix(id, "20261129-142049-tiny-cola-btp-tp2-") || checkID(id) != nil {
		t.Errorf("%q, %v", id, err)
	}
	e.Model.Size, e.Model.Variant = "../../etc\x1b ÄX", ""
	wide := e
	wide.Parallel.DP, wide.Parallel.PP, wide.Parallel.Zero, wide.Parallel.SP = 4, 3, 1, true
	if id, err := newID(time.Now(), wide); err != nil || !strings.Contains(id, "-dp4-pp3-zero1-sp-") || checkID(id) != nil {
		t.Errorf("%s, %v", id, err)
	}
	if id, err = newID(time.Now(), e); err != nil || checkID(id) != nil || strings.Contains(id, "..-") {
		t.Errorf("%q, %v", id, err)
	}
	for _, bad := range []string{"", ".", "..", "a/b", "../x", "-rf", ".hidden", "a\x00", "a b", strings.Repeat("a", 200), "ä"} {
		if checkID(bad) == nil {
			t.Errorf("%q taken for an id", bad)
		}
	}
}

func TestCreateAndFind(t *testing.T) {
	s := NewStore(filepath.Join(t.TempDir(), "not", "there"))
	if infos, errs := s.List(t.Context()); len(infos)+len(errs) != 0 {
		t.Fatalf("a store that is not there lists %v, %v", infos, errs)
	}
	r, dir := create(t, s, "first")
	in, err := s.Load(r.ID)
	if err != nil || in.Err != nil || in.State != Pending || in.Run.Name != "first" || in.Run.Plan.TP != 2 || in.Run.Experiment.Train.Steps != 10 {
		t.Fatalf("%+v, %v", in, err)
	}
	private(t, s.Root)
	private(t, dir)
	for _, name := range []string{r.ID, dir, dir + "/", r.ID[len(r.ID)-4:], r.ID[:20]} {
		if id, err := s.Find(name); err != nil || id != r.ID {
			t.Errorf("%q finds %q, %v", name, id, err)
		}
	}
	create(t, s, "second")
	if _, err := s.Find(r.ID[:4]); err == nil || !strings.Contains(err.Error(), "fits 2 runs") {
		t.Errorf("ambiguous: %v", err)
	}
	if _, err := s.Find("nothing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if _, err := s.Find("../" + filepath.Base(s.Root) + "/" + r.ID); err == nil {
		t.Error("a path out of the store is found")
	}
	names, _ := filepath.Glob(filepath.Join(s.Root, ".new-*"))
	if len(names) != 0 {
		t.Errorf("left: %v", names)
	}
	e := testExperiment("x", 1)
	e.Train.Data = "some/file"
	if r, _, err := s.Create(e, CreateOptions{}); err != nil || !filepath.IsAbs(r.Experiment.Train.Data) || r.Plan.Data != r.Experiment.Train.Data {
		t.Errorf("data of the run: %q, %v", r.Experiment.Train.Data, err)
	}
	e = testExperiment("x", 0)
	if _, _, err := s.Create(e, CreateOptions{}); err == nil {
		t.Error("a run without ranks")
	}
}

// TestDamage: whatever a run looks like, it is listed with its error and the others are untouched.
func TestDamage(t *testing.T) {
	s := NewStore(t.TempDir())
	good, goodDir := create(t, s, "good")
	finish(t, goodDir)
	whole, err := os.ReadFile(filepath.Join(goodDir, protocol.RunFile))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file, text string
		is         error
		want       string
	}{
		"torn":           {protocol.RunFile, string(whole[:len(whole)/2]), nil, "damaged"},
		"empty":          {protocol.RunFile, "", nil, "damaged"},
		"newer":          {protocol.RunFile, `{"schema": 2, "plan": "by then it is text"}`, ErrNewerSchema, "update boost-tui"},
		"no-schema":      {protocol.RunFile, "{}", nil, "damaged"},
		"ranks":          {protocol.RunFile, strings.Replace(string(whole), `"tp": 2`, `"tp": 2000000`, -1), nil, "ranks"},
		"torn-result":    {protocol.ResultFile, `{"schema": 1, "sta`, nil, "damaged"},
		"newer-result":   {protocol.ResultFile, `{"schema": 9, "state": "exploded"}`, ErrNewerSchema, "schema 9"},
		"odd-result":     {protocol.ResultFile, `{"schema": 1, "state": "running"}`, nil, "damaged"},
		"torn-notes":     {protocol.NotesFile, `{`, nil, "damaged"},
		"newer-notes":    {protocol.NotesFile, `{"schema": 3}`, ErrNewerSchema, "schema 3"},
		"huge":           {protocol.RunFile, strings.Repeat(" ", maxFileBytes+1), nil, "longer"},
		"torn-exit":      {"exit/r00000.json", `{"schema"`, nil, "exit record"},
		"other-exit":     {"exit/r00001.json", `{"schema": 1, "rank": 0}`, nil, "exit record"},
		"exit-no-result": {"agent.json", `{"pid"`, nil, ""},
	} {
		dir := s.Dir("x-" + name)
		if err := os.CopyFS(dir, os.DirFS(goodDir)); err != nil {
			t.Fatal(err)
		}
		os.Remove(filepath.Join(dir, protocol.ResultFile))
		if strings.Contains(name, "exit") {
			put(t, filepath.Join(dir, protocol.AgentFile), fmt.Sprintf(`{"schema":1,"pid":1,"start_ticks":1,"host":%q,"boot":"x"}`, here().Host))
		}
		put(t, filepath.Join(dir, c.file), c.text)
		in, err := s.Load("x-" + name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.want == "" {
			if in.Err != nil || !in.State.Over() {
				t.Errorf("%s: %s, %v", name, in.State, in.Err)
			}
			continue
		}
		if in.Err == nil || !strings.Contains(in.Err.Error(), c.want) || c.is != nil && !errors.Is(in.Err, c.is) {
			t.Errorf("%s: %v", name, in.Err)
		}
	}
	if err := os.MkdirAll(filepath.Join(s.Root, "no-run", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(s.Root, "file"), "not a directory")
	infos, errs := s.List(t.Context())
	if len(infos) != 15 || len(errs) != 13 {
		t.Errorf("%d runs, %d errors: %v", len(infos), len(errs), errs)
	}
	if i := slices.IndexFunc(infos, func(i Info) bool { return i.ID == good.ID }); i < 0 || infos[i].State != Finished {
		t.Errorf("the sound run: %+v", infos)
	}
}

func TestStates(t *testing.T) {
	s := NewStore(t.TempDir())
	me, err := self()
	if err != nil {
		t.Fatal(err)
	}
	gone, reborn, afar, rebooted := me, me, me, me
	gone.PID = 1 << 22 // beyond the largest pid
	reborn.StartTicks++
	afar.Host = "elsewhere"
	rebooted.Boot = "before"
	now := time.Now()
	for _, c := range []struct {
		name     string
		launcher Process
		agent    *Process
		beatAge  time.Duration
		exit     *protocol.ExitRecord
		want     State
		cause    string
	}{
		{"just created", me, nil, 0, nil, Pending, ""},
		{"launcher died", gone, nil, 0, nil, Lost, "never started"},
		{"elsewhere, fresh", afar, nil, 0, nil, Pending, ""},
		{"running", me, &me, time.Hour, nil, Running, ""},
		{"agent gone", me, &gone, 0, nil, Lost, "is gone, and no rank left a record"},
		{"pid used again", me, &reborn, 0, nil, Lost, "is gone"},
		{"restarted machine", me, &rebooted, 0, nil, Lost, "is gone"},
		{"agent gone, rank spoke", me, &gone, 0, &protocol.ExitRecord{Rank: 1, Code: 1, Cause: "boom", Step: 4}, Failed, "rank 1: boom (step 4)"},
		{"elsewhere, beating", me, &afar, time.Second, nil, Running, ""},
		{"elsewhere, clock behind", me, &afar, -time.Hour, nil, Running, ""},
		{"elsewhere, silent", me, &afar, time.Minute, nil, Lost, "no sign of life"},
	} {
		r, dir := create(t, s, c.name)
		r.Launcher = c.launcher
		rewrite(t, dir, protocol.RunFile, r)
		if c.agent != nil {
			rewrite(t, dir, protocol.AgentFile, agentFile{Schema: Schema, Process: *c.agent})
			if err := beat(dir, 1); err != nil {
				t.Fatal(err)
			}
			at := now.Add(-c.beatAge)
			if err := os.Chtimes(filepath.Join(dir, protocol.HeartbeatFile), at, at); err != nil {
				t.Fatal(err)
			}
		}
		if c.exit != nil {
			if err := protocol.WriteExit(dir, *c.exit); err != nil {
				t.Fatal(err)
			}
		}
		in, err := s.Load(r.ID)
		if err != nil || in.Err != nil || in.State != c.want || !strings.Contains(in.Cause, c.cause) {
			t.Errorf("%s: %s (%s), %v, %v", c.name, in.State, in.Cause, in.Err, err)
		}
	}
}

func rewrite(t *testing.T, dir, name string, v any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, name), string(data))
}

func TestTagsAndNotes(t *testing.T) {
	s := NewStore(t.TempDir())
	e := testExperiment("x", 1)
	e.Tags = []string{"a", "b"}
	r, dir, err := s.Create(e, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	finish(t, dir)
	if err := errors.Join(s.Tag(r.ID, []string{"c", "a"}, []string{"b"}), s.Note(r.ID, "good one")); err != nil {
		t.Fatal(err)
	}
	in, err := s.Load(r.ID)
	if err != nil || !slices.Equal(in.Tags, []string{"a", "c"}) || in.Note != "good one" {
		t.Fatalf("%v %q, %v", in.Tags, in.Note, err)
	}
	for _, bad := range []string{"", "a b", "a,b", "a\x1bb", strings.Repeat("x", 100)} {
		if s.Tag(r.ID, []string{bad}, nil) == nil {
			t.Errorf("tag %q taken", bad)
		}
	}
	if s.Note(r.ID, strings.Repeat("x", maxNoteBytes+1)) == nil {
		t.Error("endless note taken")
	}
}

func TestPlaces(t *testing.T) {
	if _, err := placeOf(experiment.Where{Where: "nowhere"}); err == nil {
		t.Error("nowhere is a place")
	}
	e := testExperiment("x", 1)
	s := NewStore(t.TempDir())
	for _, bin := range []string{"relative", "/nowhere/boost-tui", "/etc/hostname"} {
		if _, err := Launch(t.Context(), s, e, LaunchOptions{Binary: bin}); err == nil {
			t.Errorf("launched from %s", bin)
		}
	}
	if infos, _ := s.List(t.Context()); len(infos) != 0 {
		t.Errorf("left %d runs", len(infos))
	}
}

// TestAgentThatCannotStart: the run says why.
func TestAgentThatCannotStart(t *testing.T) {
	s := NewStore(t.TempDir())
	h, err := Launch(t.Context(), s, testExperiment("x", 1), LaunchOptions{Binary: "/bin/false"})
	if err != nil {
		t.Fatal(err)
	}
	if in, err := h.Wait(t.Context()); err != nil || in.State != Failed || !strings.Contains(in.Cause, "exit status 1") {
		t.Fatalf("%s: %s, %v", in.State, in.Cause, err)
	}
	s = NewStore(t.TempDir())
	_, err = Launch(t.Context(), s, testExperiment("x", 1), LaunchOptions{Binary: "/bin/false", Detach: true})
	if err == nil || !strings.Contains(err.Error(), "did not start") {
		t.Fatal(err)
	}
	infos, _ := s.List(t.Context())
	if len(infos) != 1 || infos[0].State != Failed || !strings.Contains(infos[0].Cause, "exit status 1") {
		t.Fatalf("%+v", infos)
	}
}
