package compare

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/profiler/record"
)

// spec is a run that a test makes up.
type spec struct {
	id, variant, scheme string
	steps, ranks        int
	wallNanos           int64
	seed                uint64
	micro               int
	flags               func(step int) record.Flags
	created             time.Time
	link                string
	keys                map[string]string // of the experiment; nil: run.json has none
	began               time.Time         // zero: the step lines have no times
	host                string
	bubble              int64 // nanoseconds of every step that a stage waits for another; 0: there are no stages
}

func (s spec) write(t testing.TB, root string) string {
	t.Helper()
	dir := filepath.Join(root, s.id)
	ok(t, os.MkdirAll(dir, 0o755))
	if s.micro == 0 {
		s.micro = 8
	}
	if s.ranks == 0 {
		s.ranks = 2
	}
	run := map[string]any{"schema": 1, "id": s.id, "created": s.created, "cpu": "TestCPU", "cores": 2, "hosts": []string{"here"},
		"model": map[string]int{"d": 128, "ff": 352, "layers": 4, "heads": 4, "vocab": 256, "rank_attn": 32, "rank_mlp": 32},
		"plan": map[string]any{"scheme": s.scheme, "variant": s.variant, "norm": "online", "grouped": true, "ckpt": "none", "tp": s.ranks, "pp": 1,
			"dp": 1, "link": s.link, "mbs": s.micro, "acc": 1, "seq": 128, "dtype": "fp32", "device": "cpu"},
		"predicted": map[string]any{"flops": 1e9}, "versions": map[string]string{"binary": "abc"}}
	if s.host != "" {
		run["hosts"] = []string{s.host}
	}
	if s.keys != nil {
		e := experiment.Default()
		for k, v := range s.keys {
			ok(t, e.Set(k, v))
		}
		e, err := e.Resolve()
		ok(t, err)
		run["experiment"] = e
	}
	data, err := json.Marshal(run)
	ok(t, err)
	ok(t, os.WriteFile(filepath.Join(dir, "run.json"), data, 0o644))
	rng := rand.New(rand.NewPCG(s.seed, 1))
	noise := make([]int64, s.steps)
	for i := range noise {
		noise[i] = rng.Int64N(s.wallNanos/50 + 1)
	}
	for rank := range s.ranks {
		w, err := record.OpenWriter(record.StepsPath(dir, rank))
		ok(t, err)
		end := s.began
		for i := range s.steps {
			l := record.NewStepLine(i + 1)
			l.WallNanos = s.wallNanos + noise[i] + int64(rank)*10
			l.ComputeNanos = l.WallNanos / 2
			l.OverlapNanos, l.ExposedNanos, l.MemNanos = 1000, l.WallNanos/4, 300
			l.CommNanos, l.WaitNanos = l.ExposedNanos+l.OverlapNanos, 500
			if s.bubble > 0 {
				l.BubbleNanos = s.bubble
			}
			l.IdleNanos = l.WallNanos - l.ComputeNanos - l.ExposedNanos - l.MemNanos
			l.Tokens, l.CommBytes, l.Collectives, l.MemAllocBytes = 1024, 7000, 12, int64(1<<20+rank)
			l.Loss = 5 - float64(i)/100
			if !s.began.IsZero() {
				end = end.Add(time.Duration(l.WallNanos))
				l.TSNanos = end.UnixNano()
			}
			if s.flags != nil {
				l.Flags = s.flags(i + 1)
			}
			if l.Flags&record.NonFinite != 0 {
				l.Loss = math.NaN()
			}
			ok(t, w.Step(&l))
		}
		ok(t, w.Close())
	}
	return dir
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSummaryAddsUp(t *testing.T) {
	dir := spec{id: "a", variant: "cola", scheme: "btp", steps: 200, wallNanos: 200e6, flags: func(step int) record.Flags {
		if step%50 == 0 {
			return record.Deep
		}
		return 0
	}}.write(t, t.TempDir())
	ok(t, os.WriteFile(filepath.Join(dir, "result.json"), []byte(`{"schema":1,"state":"finished","x":[]}`), 0o644))
	s, err := Summarize(dir)
	ok(t, err)
	if s.Steps != 200 || s.Short || s.Skipped != 50 || s.Kept != 147 || s.Ranks != 2 || s.State != "finished" {
		t.Errorf("%+v", s)
	}
	b := s.Breakdown
	sum := *b.Compute + *b.CommExposed + *b.Memory + *b.Idle
	mean := *s.StepTimeMean - 10e-9/2 // the step is the slowest rank's, the parts are a mean over ranks
	if math.Abs(sum-mean) > 1e-12 {
		t.Errorf("the parts sum to %v, the mean step of the ranks is %v", sum, mean)
	}
	if math.Abs(*b.CommWait+*b.CommTransfer-*b.Comm) > 1e-15 || math.Abs(*b.CommExposed+*b.Overlap-*b.Comm) > 1e-15 {
		t.Errorf("communication: %v = %v + %v = %v + %v", *b.Comm, *b.CommWait, *b.CommTransfer, *b.CommExposed, *b.Overlap)
	}
	if *s.CommBytesPerStep != 7000 || *s.PeakMemory != 1<<20+1 || *s.LossFirst != 5 || math.Abs(*s.LossLast-3.01) > 1e-12 ||
		math.Abs(*s.LossMeanLast20-3.105) > 1e-12 {
		t.Errorf("%+v", s)
	}
	if got := *s.TokensPerSecond * *s.StepTimeMean; math.Abs(got-1024) > 1e-6 {
		t.Errorf("%v tokens per step", got)
	}
}

func TestSummaryFromTheRollupIsTheSame(t *testing.T) {
	dir := spec{id: "a", variant: "cola", scheme: "btp", steps: 120, wallNanos: 200e6}.write(t, t.TempDir())
	want, err := Summarize(dir)
	ok(t, err)
	w, err := record.OpenRollupWriter(dir, []int{0, 1})
	ok(t, err)
	_, err = w.Poll(t.Context())
	ok(t, err)
	ok(t, w.Close())
	ok(t, os.RemoveAll(filepath.Join(dir, "steps")))
	got, err := Summarize(dir)
	ok(t, err)
	if *got.StepTimeMedian != *want.StepTimeMedian || got.Kept != want.Kept || *got.LossMeanLast20 != *want.LossMeanLast20 ||
		math.Abs(*got.Breakdown.Compute-*want.Breakdown.Compute) > 1e-7**want.Breakdown.Compute {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestShortAndEmptyRuns(t *testing.T) {
	root := t.TempDir()
	for steps, kept := range map[int]int{0: 0, 1: 1, 3: 3, 40: 30} {
		dir := spec{id: fmt.Sprint("s", steps), variant: "full", scheme: "full-rank", steps: steps, wallNanos: 50e6,
			flags: func(int) record.Flags { return map[bool]record.Flags{true: record.Deep}[steps == 3] }}.write(t, root)
		s, err := Summarize(dir)
		ok(t, err)
		if s.Steps != steps || s.Kept != kept || !s.Short {
			t.Errorf("%d steps: %+v", steps, s)
		}
		_, err = json.Marshal(s)
		ok(t, err)
	}
	for name, c := range map[string]struct{ json, want string }{
		"newer":   {`{"schema":2,"id":"x"}`, "newer version"},
		"damaged": {`{"schema":1,`, "damaged"},
	} {
		dir := filepath.Join(root, name)
		ok(t, os.MkdirAll(dir, 0o755))
		ok(t, os.WriteFile(filepath.Join(dir, "run.json"), []byte(c.json), 0o644))
		if _, err := Summarize(dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Summarize(dir); name == "newer" && !errors.Is(err, record.ErrNewerSchema) {
			t.Errorf("%v is no ErrNewerSchema", err)
		}
	}
	if _, err := Summarize(filepath.Join(root, "nowhere")); err == nil {
		t.Error("a run that is not there")
	}
}

func three(t testing.TB, root string) []string {
	return []string{
		spec{id: "20-full", variant: "full", scheme: "full-rank", steps: 200, wallNanos: 300e6, seed: 1}.write(t, root),
		spec{id: "20-van", variant: "cola", scheme: "vanilla", steps: 200, wallNanos: 303e6, seed: 2}.write(t, root),
		spec{id: "21-btp", variant: "cola", scheme: "btp", steps: 200, wallNanos: 150e6, seed: 3}.write(t, root),
	}
}

func TestCompareSchemes(t *testing.T) {
	dirs := three(t, t.TempDir())
	table, err := Compare(dirs, Options{})
	ok(t, err)
	if table.Baseline != "20-full" || table.Vanilla != "20-van" || len(table.Rows) != 3 {
		t.Fatalf("%+v", table)
	}
	full, van, btp := table.Rows[0], table.Rows[1], table.Rows[2]
	if full.VsFull.Ratio != 1 || full.VsFull.Verdict != "" || !near(btp.VsFull.Ratio, 2, 0.01) || btp.VsFull.Verdict != "faster" ||
		van.VsFull.Verdict != "slower" || !near(btp.VsVanilla.Ratio, 2.02, 0.01) {
		t.Errorf("full %+v\nvanilla %+v\nbtp %+v %+v", full.VsFull, van.VsFull, btp.VsFull, btp.VsVanilla)
	}
	if ci := btp.VsFull.CI; !(ci[0] < btp.VsFull.Ratio && btp.VsFull.Ratio < ci[1]) || ci[1]-ci[0] > 0.05 {
		t.Errorf("interval %v", ci)
	}
	for _, r := range table.Rows {
		if !r.Comparable || len(r.Differs) != 0 {
			t.Errorf("%s differs in %v", r.ID, r.Differs)
		}
	}
	data, err := json.Marshal(table)
	ok(t, err)
	for _, want := range []string{`"baseline":"20-full"`, `"vs_vanilla":{"ratio":`, `"ci":[`, `"differs":[]`, `"comm_bytes_per_step":7000`,
		`"step_time_median":`, `"breakdown":{"compute":`, `"loss_last":`, `"peak_memory":`, `"tokens_per_second":`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %s in %s", want, data)
		}
	}
}

func near(a, b, rel float64) bool { return math.Abs(a-b) <= rel*b }

func TestCompareMarksWhatCannotBeCompared(t *testing.T) {
	root := t.TempDir()
	dirs := append(three(t, root), spec{id: "22-big", variant: "cola", scheme: "btp", steps: 200, wallNanos: 150e6, seed: 3, micro: 16}.write(t, root),
		spec{id: "23-short", variant: "svd", scheme: "btp", steps: 30, wallNanos: 150e6, seed: 3}.write(t, root))
	table, err := Compare(dirs, Options{})
	ok(t, err)
	big, short := table.Rows[3], table.Rows[4]
	if big.Comparable || !slices.Equal(big.Differs, []string{"micro-batch"}) || big.VsFull.Verdict != "" || big.VsFull.P != nil {
		t.Errorf("%+v %+v", big.Differs, big.VsFull)
	}
	if !short.Short || short.VsFull.Ratio < 1.9 || short.VsFull.Verdict != "" {
		t.Errorf("%+v", short.VsFull)
	}
	text := table.Text()
	for _, want := range []string{"micro-batch 16 instead of 8", "23-short is short", "≠ 2.0"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	t.Logf("\n%s", text)
}

// Times beside an emulated link are marked in every table, and no verdict mixes them with others.
func TestEmulatedLinkIsMarked(t *testing.T) {
	const link = "bw=2GB/s,latency=20us"
	root := t.TempDir()
	dirs := append(three(t, root), spec{id: "30-full", variant: "full", scheme: "full-rank", steps: 200, wallNanos: 400e6, seed: 4, link: link}.write(t, root),
		spec{id: "31-btp", variant: "cola", scheme: "btp", steps: 200, wallNanos: 200e6, seed: 5, link: link}.write(t, root))
	table, err := Compare(dirs, Options{Baseline: "20-full"})
	ok(t, err)
	mixed := table.Rows[4]
	if mixed.Comparable || !slices.Equal(mixed.Differs, []string{"link"}) || mixed.VsFull.Verdict != "" || mixed.EmulatedLink != link || table.Rows[0].EmulatedLink != "" {
		t.Errorf("%+v", mixed)
	}
	data, err := table.CSV()
	ok(t, err)
	for text, wants := range map[string][]string{
		table.Text():     {"btp (emulated link)", "link bw=2GB/s,latency=20us instead of none", "emulated link: the messages of 31-btp were slowed down to bw=2GB/s,latency=20us"},
		table.Markdown(): {"| btp (emulated link) |", "- emulated link: "},
		string(data):     {"link=none→bw=2GB/s,latency=20us", `,"bw=2GB/s,latency=20us"`},
	} {
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	}
	table, err = Compare(dirs[3:], Options{}) // beside the same link they compare as any runs do
	ok(t, err)
	if b := table.Rows[1]; !b.Comparable || b.VsFull.Verdict != "faster" || b.VsFull.Ratio < 1.9 {
		t.Errorf("%+v", b)
	}
}

func TestBaselineByName(t *testing.T) {
	dirs := three(t, t.TempDir())
	table, err := Compare(dirs, Options{Baseline: "21"})
	ok(t, err)
	if table.Baseline != "21-btp" || !near(table.Rows[0].VsFull.Ratio, 0.5, 0.01) {
		t.Errorf("%s: %+v", table.Baseline, table.Rows[0].VsFull)
	}
	for name, want := range map[string]string{"20": "fits 2", "x": "none of the runs"} {
		if _, err := Compare(dirs, Options{Baseline: name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", name, err)
		}
	}
	table, err = Compare(dirs[1:], Options{})
	ok(t, err)
	if table.Baseline != "" || table.Rows[1].VsFull != nil || table.Rows[1].VsVanilla == nil {
		t.Errorf("without a full-rank run: %+v", table)
	}
}

func TestSameRunsAreNotFoundDifferent(t *testing.T) {
	root := t.TempDir()
	dirs := []string{spec{id: "a", variant: "full", scheme: "full-rank", steps: 200, wallNanos: 300e6, seed: 1}.write(t, root),
		spec{id: "b", variant: "cola", scheme: "btp", steps: 200, wallNanos: 300e6, seed: 9}.write(t, root)}
	table, err := Compare(dirs, Options{})
	ok(t, err)
	if v := table.Rows[1].VsFull; v.Verdict != "~" || !strings.Contains(table.Text(), "no significant difference") {
		t.Errorf("%+v", v)
	}
}

func TestRenderings(t *testing.T) {
	table, err := Compare(three(t, t.TempDir()), Options{})
	ok(t, err)
	if text := table.Text(); strings.Contains(text, "21-btp") {
		t.Errorf("ids where nobody needs them:\n%s", text)
	}
	table.Rows[2].ID, table.Rows[2].Scheme = "21\x1b[2Jbtp", "vanilla"
	if text := table.Text(); strings.ContainsRune(text, 0x1b) || !strings.Contains(text, "21?[2Jbtp") {
		t.Errorf("an escape sequence got through:\n%s", text)
	}
	if md := table.Markdown(); !strings.Contains(md, "| variant | scheme |") || !strings.Contains(md, "| cola | vanilla |") {
		t.Errorf("%s", md)
	}
	data, err := table.CSV()
	ok(t, err)
	rows, err := csv.NewReader(strings.NewReader(string(data))).ReadAll()
	ok(t, err)
	head := "baseline,candidate,metric,base_median,cand_median,ratio,ci_lo,ci_hi,p,n_base,n_cand,skip_base,skip_cand,block,plan_diff,emulated_link,emulated_device"
	if strings.Join(rows[0], ",") != head || len(rows) != 5 || rows[2][0] != "20-full" {
		t.Errorf("%s", data)
	}
}
