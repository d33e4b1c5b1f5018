package compare

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/profiler/record"
)

// Every key of an experiment is a difference that is named, and changes what docs/numbers.md says it does.
func TestEveryKeyIsNamed(t *testing.T) {
	for _, k := range experiment.Keys() {
		base, run := experiment.Default(), experiment.Default()
		value := map[experiment.Kind]string{experiment.Int: "3", experiment.Float: "0.25", experiment.String: "/x.bin"}[k.Kind]
		for _, v := range append(k.Choices, "on", "off", value) {
			changed := base
			if changed.Set(k.Name, v) == nil && changed.Get(k.Name) != base.Get(k.Name) {
				run = changed
				break
			}
		}
		if slices.Contains(apart, k.Name) || slices.ContainsFunc(properties, func(p property) bool { return p.name == k.Name }) {
			continue
		}
		if run.Get(k.Name) == base.Get(k.Name) {
			continue // it has one value so far
		}
		d := difference(&Run{Experiment: &base}, &Run{Experiment: &run})
		if len(d.all) != 1 || d.all[0].Name != k.Name || d.all[0].Run != run.Get(k.Name) {
			t.Errorf("%s: %+v", k.Name, d.all)
			continue
		}
		want, listed := cannotChangeTime[k.Name]
		if k.Name == "data" { // other text
			want, listed = Loss, true
		}
		if !listed {
			want = StepTime
		}
		if c := d.all[0].Changes; c != want || d.timed() != listed || d.loss != (c == Loss || c == StepTime) {
			t.Errorf("%s changes %q, losses differ: %v", k.Name, c, d.loss)
		}
	}
}

func TestDifferencesThatLeaveTimeAlone(t *testing.T) {
	root := t.TempDir()
	base := map[string]string{"size": "tiny", "variant": "full", "tp": "2", "steps": "200"}
	other := map[string]string{"size": "tiny", "variant": "cola", "tp": "2", "steps": "300", "seed": "2", "data": "/some.txt"}
	dirs := []string{spec{id: "a", variant: "full", scheme: "full-rank", steps: 200, wallNanos: 300e6, keys: base}.write(t, root),
		spec{id: "b", variant: "cola", scheme: "btp", steps: 300, wallNanos: 150e6, seed: 3, keys: other}.write(t, root)}
	table, err := Compare(dirs, Options{})
	ok(t, err)
	b := table.Rows[1]
	if !b.Comparable || b.LossMatches || !slices.Equal(b.Differs, []string{"steps", "seed", "data"}) || b.VsFull.Verdict != "faster" {
		t.Errorf("comparable %v, loss %v, differs %v, %+v", b.Comparable, b.LossMatches, b.Differs, b.VsFull)
	}
	if text := table.Text(); !strings.Contains(text, "The loss of b is not comparable: steps 300 instead of 200, seed 2 instead of 1") || !strings.Contains(text, "≠ 2.0100") {
		t.Errorf("%s", text)
	}
	data, err := json.Marshal(table)
	ok(t, err)
	for _, want := range []string{`"loss_comparable":false`, `"differs":["steps","seed","data"]`, `"changes":"loss"`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %s in %s", want, data)
		}
	}
	// Tokens from a file of tokens are another thing than text.
	if d := difference(&Run{Experiment: with("data", "/a.bin")}, &Run{Experiment: with("data", "/a.txt")}); d.timed() {
		t.Errorf("%+v", d)
	}
}

// What another variant brings is no difference by itself; what one variant is set to is.
func TestKeysOfAVariantBelongToIt(t *testing.T) {
	of := func(words ...string) *Run {
		e := experiment.Default()
		for _, w := range words {
			key, value, _ := strings.Cut(w, "=")
			ok(t, e.Set(key, value))
		}
		e, err := e.Resolve()
		ok(t, err)
		return &Run{Experiment: &e, Plan: record.PlanFields{Variant: string(e.Model.Variant)}}
	}
	for _, tc := range []struct {
		a, b        *Run
		timed, loss bool
	}{
		{of("variant=full"), of("variant=lax", "lax-gate=vector"), true, false},
		{of("variant=full"), of("variant=sltrain"), true, false},
		{of("variant=loro", "loro-every=7"), of("variant=relora", "relora-every=9"), true, false},
		{of("variant=lax"), of("variant=lax", "lax-gate=vector"), false, true},
		{of("variant=relora"), of("variant=relora", "relora-alpha=8"), true, true},
		{of("variant=full"), of("variant=lax", "link=bw=1GB/s"), true, false}, // the plan has it
	} {
		if d := difference(tc.a, tc.b); d.timed() != tc.timed || d.loss != tc.loss {
			t.Errorf("%+v", d)
		}
	}
}

func with(key, value string) *experiment.Experiment {
	e := experiment.Default()
	if err := e.Set(key, value); err != nil {
		panic(err)
	}
	return &e
}

func TestDefaultsPreferTheSameDataThenLengthThenTheLatest(t *testing.T) {
	root := t.TempDir()
	day := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	full := func(id, seed string, steps int, hour int) string {
		return spec{id: id, variant: "full", scheme: "full-rank", steps: steps, wallNanos: 300e6, created: day.Add(time.Duration(hour) * time.Hour),
			keys: map[string]string{"variant": "full", "seed": seed}}.write(t, root)
	}
	btp := spec{id: "btp", variant: "cola", scheme: "btp", steps: 200, wallNanos: 150e6, keys: map[string]string{"variant": "full", "seed": "1"}}.write(t, root)
	early, late, short, other := full("early", "1", 200, 1), full("late", "1", 200, 2), full("short", "1", 30, 3), full("other", "2", 200, 4)
	for _, c := range []struct {
		dirs []string
		want string
	}{{[]string{early, late, short, other, btp}, "late"}, {[]string{early, other, btp}, "early"}, {[]string{short, other, btp}, "short"}} {
		table, err := Compare(c.dirs, Options{})
		ok(t, err)
		if table.Baseline != c.want {
			t.Errorf("baseline %s, want %s", table.Baseline, c.want)
		}
	}
}

func TestRunsBesideEachOther(t *testing.T) {
	began := time.Now().Add(-time.Hour)
	full := spec{id: "a", variant: "full", scheme: "full-rank", steps: 200, wallNanos: 300e6, began: began}
	beside := spec{id: "b", variant: "cola", scheme: "btp", steps: 200, wallNanos: 150e6, seed: 3, began: began.Add(20 * time.Second)}
	after, elsewhere := beside, beside
	after.began = began.Add(70 * time.Second)
	elsewhere.host = "there"
	for name, c := range map[string]struct {
		other   spec
		want    []string
		verdict string
	}{"beside": {beside, []string{"b"}, ""}, "after": {after, nil, "faster"}, "elsewhere": {elsewhere, nil, "faster"}} {
		root := t.TempDir()
		dirs := []string{full.write(t, root), c.other.write(t, root)}
		table, err := Compare(dirs, Options{})
		ok(t, err)
		if r := table.Rows[0]; !slices.Equal(r.Overlapped, c.want) || len(table.Rows[1].Overlapped) != len(c.want) || table.Rows[1].VsFull.Verdict != c.verdict {
			t.Errorf("%s: overlapped by %v, %+v", name, r.Overlapped, table.Rows[1].VsFull)
		}
		for format, text := range map[string]string{"text": table.Text(), "markdown": table.Markdown()} {
			if strings.Contains(text, "a ran while b ran") != (c.want != nil) || strings.Contains(text, "! –") || strings.Contains(text, "! 1.00x") {
				t.Errorf("%s, %s:\n%s", name, format, text)
			}
		}
		// A copy is the run itself.
		if name == "beside" {
			ok(t, os.CopyFS(filepath.Join(root, "copy"), os.DirFS(dirs[0])))
			ok(t, os.Chtimes(filepath.Join(root, "copy", "run.json"), began, began))
			table, err = Compare(append(dirs, filepath.Join(root, "copy")), Options{})
			ok(t, err)
			if r := table.Rows[0]; !slices.Equal(r.Overlapped, c.want) {
				t.Errorf("overlapped by %v", r.Overlapped)
			}
			ok(t, os.RemoveAll(filepath.Join(root, "copy")))
		}
		// A run of the same store that is not compared disturbs as well. Its files tell when it ran.
		ok(t, os.Chtimes(filepath.Join(dirs[1], "run.json"), c.other.began, c.other.began))
		table, err = Compare(dirs[:1], Options{})
		ok(t, err)
		if r := table.Rows[0]; !slices.Equal(r.Overlapped, c.want) {
			t.Errorf("%s, not compared: overlapped by %v", name, r.Overlapped)
		}
	}
}

func TestTitlesNameWhatTheReferencesAre(t *testing.T) {
	dirs := three(t, t.TempDir())
	for _, c := range []struct {
		o                 Options
		baseline, vanilla string
	}{{Options{}, "vs full-rank", "vs vanilla"}, {Options{Baseline: "20-van", Vanilla: "21-btp"}, "vs baseline (vanilla)", "vs reference (btp)"}} {
		table, err := Compare(dirs, c.o)
		ok(t, err)
		if text := table.Text(); !strings.Contains(text, c.baseline) || !strings.Contains(text, c.vanilla) || !strings.Contains(table.Markdown(), "| "+c.baseline+" | "+c.vanilla+" |") {
			t.Errorf("no %q and %q in\n%s", c.baseline, c.vanilla, text)
		}
	}
}

// Resident size is that of the operating system's samples, not device memory; samples from before and after the
// steps do not count, and one alone is none.
func TestResidentMemory(t *testing.T) {
	began := time.Date(2026, 11, 29, 15, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name    string
		samples []time.Duration // after the first step's start; sample i is i+1 GiB
		want    int64
	}{
		{"trained", []time.Duration{-time.Second, 0, time.Second, 2 * time.Second, time.Minute}, 4 << 30},
		{"one sample", []time.Duration{-time.Second, time.Second, time.Minute}, 0},
		{"too short for any", []time.Duration{-time.Second, time.Minute}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := spec{id: "a", variant: "cola", scheme: "btp", steps: 30, wallNanos: 1e8, began: began}.write(t, t.TempDir())
			w, err := record.OpenWriter(record.HealthPath(dir, "here"))
			ok(t, err)
			for i, after := range c.samples {
				h := record.NewHealthLine(record.KindCPU, began.Add(after).UnixNano())
				h.Rank, h.RSSBytes = 0, int64(i+1)<<30
				ok(t, w.Health(&h))
			}
			ok(t, w.Close())
			s, err := Summarize(dir)
			ok(t, err)
			if *s.PeakMemory != 1<<20+1 {
				t.Errorf("device memory %d", *s.PeakMemory)
			}
			if got := s.ResidentMemory; (got == nil) != (c.want == 0) || got != nil && *got != c.want {
				t.Errorf("resident %v, want %d", got, c.want)
			}
		})
	}
}
