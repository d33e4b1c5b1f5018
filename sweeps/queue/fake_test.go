package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/kernels/cpu"
	"boost-tui/planner"
	"boost-tui/profiler/record"
	"boost-tui/runner"
	"boost-tui/runner/protocol"
	"boost-tui/sweeps"
	"boost-tui/sweeps/space"
	"boost-tui/trainer"
)

// TestMain lets the test binary play all roles: `agent`, `rank` (a fake one, which does what the file fakes in the
// folder of the runs says for its seed), `engine` (who looks after a sweep in front) and `sweeper` (detached).
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "agent":
			o := runner.AgentOptions{Dir: os.Args[3], Version: "test"}
			if os.Getenv(envReal) != "" {
				o.NewSegment = cpu.NewSegment
			}
			exit(runner.Agent(context.Background(), o))
		case "rank":
			exit(fakeRank())
		case "engine":
			exit(fakeEngine(os.Args[2], Cancel))
		case Role:
			exit(fakeEngine(os.Args[3], Leave))
		}
	}
	// Agents and ranks inherit it: a program with the race detector would take a second to exit.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		exit(err)
	}
	os.Exit(m.Run())
}

// envReal makes ranks train. Its name is of those that ranks inherit.
const envReal = "BOOST_TEST_REAL"

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func fakeEngine(dir string, i Interrupt) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := sweeps.Open(dir)
	if err != nil {
		return err
	}
	return Run(ctx, s, Options{Runs: runner.NewStore(filepath.Dir(filepath.Dir(dir))), Interrupt: i, Prepare: small})
}

// small is a Prepare that predicts little memory.
func small(e experiment.Experiment) (experiment.Experiment, runner.LaunchOptions, error) {
	return e, runner.LaunchOptions{Predicted: &runner.Predicted{MemBytes: 1 << 20}}, nil
}

// fakeRank trains nothing, and says in ran.log what it did.
func fakeRank() error {
	s, err := protocol.ReadSpec(os.Stdin)
	if err != nil {
		return err
	}
	if os.Getenv(envReal) != "" {
		return trainer.Run(context.Background(), s, os.Stdin)
	}
	in, err := runner.Read(s.RunDir)
	if err != nil {
		return err
	}
	f := fake{s: s, attempt: 1, seed: strconv.FormatUint(s.Experiment.Train.Seed, 10)}
	if in.Run.Sweep != nil {
		f.attempt = in.Run.Sweep.Attempt
	}
	if f.steps, err = record.OpenWriter(record.StepsPath(s.RunDir, s.Rank)); err != nil {
		return err
	}
	if s.Rank == 0 {
		f.say("begin")
	}
	if err := f.run(f.word()); err != nil {
		return err
	}
	if s.Rank == 0 {
		f.say("end")
	}
	return nil
}

type fake struct {
	s       protocol.RankSpec
	seed    string
	attempt int
	steps   *record.Writer
}

// say appends a line to ran.log: what really ran, whatever the journal says.
func (f *fake) say(what string) {
	log, err := os.OpenFile(filepath.Join(filepath.Dir(f.s.RunDir), "ran.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintf(log, "%s %s %d %s\n", what, f.seed, f.attempt, filepath.Base(f.s.RunDir))
		log.Close()
	}
}

// word is what the file fakes says for the seed: "3 nan". Behind a word with "-once" the first attempt alone obeys.
func (f *fake) word() string {
	data, _ := os.ReadFile(filepath.Join(filepath.Dir(f.s.RunDir), "fakes"))
	for line := range strings.Lines(string(data)) {
		seed, word, _ := strings.Cut(strings.TrimSpace(line), " ")
		if seed != f.seed && seed != "*" {
			continue
		}
		if first, once := strings.CutSuffix(word, "-once"); once {
			if f.attempt > 1 {
				return "ok"
			}
			return first
		}
		return word
	}
	return "ok"
}

func (f *fake) run(word string) error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	word, arg, _ := strings.Cut(word, " ")
	forever := word == "long" || word == "long-diverge" || strings.HasSuffix(arg, "forever")
	steps := f.s.Experiment.Train.Steps
	if word == "paced" && !forever {
		steps = 60
	}
	for step := 1; step <= steps || forever; step++ {
		loss, wall := 5/math.Sqrt(float64(step)), time.Millisecond
		switch {
		case word == "data":
			return errors.New("data: /x: token 300 at position 7 is outside the vocabulary of 256")
		case word == "die" && step == 2:
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		case word == "nan" && step == 2:
			l := record.NewStepLine(step)
			l.Flags = record.NonFinite
			_ = f.steps.Step(&l)
			_ = protocol.WriteExit(f.s.RunDir, protocol.ExitRecord{Rank: f.s.Rank, Code: 1, Cause: "the loss of step 2 is NaN", Step: 2, TSNanos: time.Now().UnixNano()})
			os.Exit(1)
		case word == "long-diverge":
			loss = 5 + float64(step)
		case word == "fill":
			fill(filepath.Dir(f.s.RunDir))
			return errors.New("step line lost")
		case word == "paced": // pretends that its steps took so many milliseconds
			ms, _ := strconv.Atoi(strings.Fields(arg)[0])
			wall = time.Duration(ms+step%7) * time.Millisecond
		}
		l := record.NewStepLine(step)
		l.TSNanos, l.WallNanos, l.Loss, l.Tokens = time.Now().UnixNano(), int64(wall), loss, 1024
		if err := f.steps.Step(&l); err != nil {
			return err
		}
		select {
		case <-stop:
			os.Exit(protocol.CodeCancelled)
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// fill fills the disk.
func fill(dir string) {
	f, err := os.Create(filepath.Join(dir, "ballast"))
	if err != nil {
		return
	}
	block := bytes.Repeat([]byte{1}, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	f.Close() // or its room would not be free when it is removed
}

// bed is a sweep in a fresh store.
type bed struct {
	t     testing.TB
	runs  *runner.Store
	sweep *sweeps.Sweep
	o     Options // of Run
	steps int     // that experiments have
}

// points makes a sweep of n points whose seeds count from 1.
func points(t testing.TB, n int, change func(*sweeps.Options)) *bed {
	t.Helper()
	return pointsIn(t, t.TempDir(), n, change)
}

func pointsIn(t testing.TB, root string, n int, change func(*sweeps.Options)) *bed {
	t.Helper()
	return pointsOf(t, root, 3, n, change)
}

// pointsOf is pointsIn for experiments of so many steps.
func pointsOf(t testing.TB, root string, steps, n int, change func(*sweeps.Options)) *bed {
	t.Helper()
	b := &bed{t: t, runs: runner.NewStore(filepath.Join(root, "runs")), steps: steps}
	b.o = Options{Runs: b.runs, Prepare: small}
	o := sweeps.DefaultOptions()
	if change != nil {
		change(&o)
	}
	file, x := b.space(1, n)
	b.create(file, x, o)
	return b
}

// create makes the sweep.
func (b *bed) create(file space.File, x *space.Expansion, o sweeps.Options) {
	t := b.t
	t.Helper()
	var err error
	if b.sweep, err = sweeps.OpenFolder(b.runs).Create(file, x, o, nil); err != nil {
		t.Fatal(err)
	}
	root := b.runs.Root
	t.Cleanup(func() {
		for _, pid := range processes(root) {
			t.Logf("process %d was left over", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
}

// space is the points of some seeds.
func (b *bed) space(from, to int) (space.File, *space.Expansion) {
	b.t.Helper()
	axis, err := space.ParseAxis(fmt.Sprintf("seed=%d..%d", from, to))
	if err != nil {
		b.t.Fatal(err)
	}
	file := space.File{Spec: space.Spec{Set: []space.Assign{{Key: "steps", Value: strconv.Itoa(b.steps)}, {Key: "warmup", Value: "1"}}, Axes: []space.Axis{axis}}}
	x, err := space.Expand(b.t.Context(), file.Spec, planner.Machine{})
	if err != nil {
		b.t.Fatal(err)
	}
	return file, x
}

// fakes says how ranks behave.
func (b *bed) fakes(lines ...string) {
	b.t.Helper()
	if err := os.MkdirAll(b.runs.Root, 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.runs.Root, "fakes"), []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// run runs the sweep in this process.
func (b *bed) run() *sweeps.State {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	if err := Run(ctx, b.sweep, b.o); err != nil {
		b.t.Fatal(err)
	}
	return b.state()
}

func (b *bed) state() *sweeps.State {
	b.t.Helper()
	st, err := b.sweep.Load(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	if err := sweeps.CheckLegal(st); err != nil {
		b.t.Fatal(err)
	}
	return st
}

// begin runs the sweep in the background; the function waits for its end.
func (b *bed) begin(ctx context.Context) (wait func() error) {
	over := make(chan error, 1)
	go func() { over <- Run(ctx, b.sweep, b.o) }()
	return func() error {
		b.t.Helper()
		select {
		case err := <-over:
			return err
		case <-time.After(time.Minute):
			b.t.Fatal("the engine does not end")
			return nil
		}
	}
}

// engine starts a program that looks after the sweep.
func (b *bed) engine(role ...string) *exec.Cmd {
	b.t.Helper()
	self, _ := os.Executable()
	cmd := exec.Command(self, append(role, b.sweep.Dir)...)
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	return cmd
}

// seed finds the point of a seed.
func seed(st *sweeps.State, n int) *sweeps.PointState {
	for _, p := range st.Points {
		for _, a := range p.Set {
			if a.Key == "seed" && a.Value == strconv.Itoa(n) {
				return p
			}
		}
	}
	return nil
}

// ran counts what the ranks wrote of themselves: by seed how often training began and ended.
func (b *bed) ran() (begins, ends map[string]int) {
	data, _ := os.ReadFile(filepath.Join(b.runs.Root, "ran.log"))
	begins, ends = map[string]int{}, map[string]int{}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if f[0] == "begin" {
			begins[f[1]]++
		} else {
			ends[f[1]]++
		}
	}
	return begins, ends
}

// once checks that every point has trained once and has one finished run, by the ranks, the store and the journal. Points
// that were skipped have none.
func (b *bed) once(n int) *sweeps.State {
	b.t.Helper()
	st := b.state()
	if st.Phase != sweeps.PhaseFinished || len(st.Points) != n || st.Count(sweeps.Finished)+st.Count(sweeps.Skipped) != n {
		b.t.Fatalf("%s: %d of %d points finished", st.Phase, st.Count(sweeps.Finished), len(st.Points))
	}
	begins, ends := b.ran()
	for i := 1; i <= n; i++ {
		want := 1
		if seed(st, i).Status == sweeps.Skipped {
			want = 0
		}
		if k := strconv.Itoa(i); begins[k] != want || ends[k] != want {
			b.t.Errorf("seed %d began %d times and ended %d times: %+v", i, begins[k], ends[k], seed(st, i).Attempts)
		}
	}
	infos, err := b.runs.OfSweep(b.t.Context(), b.sweep.ID)
	if err != nil {
		b.t.Fatal(err)
	}
	finished := map[string]int{}
	for _, in := range infos {
		if in.State == runner.Finished {
			finished[in.Run.Sweep.Point]++
			if p := st.Point(in.Run.Sweep.Point); p == nil || p.Run() != in.ID {
				b.t.Errorf("run %s finished and is not the one that counts", in.ID)
			}
		} else if in.State != runner.Lost || in.HadRanks() {
			b.t.Errorf("run %s is %s: %s", in.ID, in.State, in.Cause)
		}
	}
	for _, p := range st.Points {
		if finished[p.ID] != 1 && p.Status != sweeps.Skipped {
			b.t.Errorf("point %s has %d finished runs", p.Label, finished[p.ID])
		}
	}
	return st
}

// processes finds those that name the folder on their command line.
func processes(dir string) []int {
	var pids []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err == nil && bytes.Contains(line, []byte(dir+"/")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// training waits until the rank of a seed has begun.
func (b *bed) training(seed string) {
	b.t.Helper()
	b.eventually("the rank of seed "+seed, func(*sweeps.State) bool { begins, _ := b.ran(); return begins[seed] > 0 })
}

// skipRest takes all points out of the queue.
func (b *bed) skipRest() {
	b.t.Helper()
	var ids []string
	for _, p := range b.state().Queue {
		ids = append(ids, p.ID)
	}
	if err := b.sweep.Skip(ids); err != nil {
		b.t.Fatal(err)
	}
}

// eventually waits for a condition.
func (b *bed) eventually(what string, ok func(*sweeps.State) bool) *sweeps.State {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		st := b.state()
		if ok(st) {
			return st
		}
		if time.Now().After(end) {
			b.t.Fatalf("waited in vain for %s; the sweep is %s: %s", what, st.Phase, st.Cause)
		}
	}
}

func running(n int) func(*sweeps.State) bool {
	return func(st *sweeps.State) bool {
		k := 0
		for _, p := range st.Points {
			if p.Status == sweeps.Running && p.Run() != "" {
				k++
			}
		}
		return k == n
	}
}
