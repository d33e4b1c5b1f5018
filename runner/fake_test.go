package runner

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/internal/wallclock"
	"boost-tui/kernels"
	"boost-tui/profiler/flight"
	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// TestMain lets the test binary play all roles: `agent`, `rank` (a fake one, whose behaviour is the
// experiment's name) and `launch`, which stands for `boost-tui run`.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "agent":
			if clock, ok := os.LookupEnv(envAgentClock); ok { // its host's clock is another than that of who launched it
				exitOn(os.Setenv(wallclock.EnvOffset, clock))
			}
			o := AgentOptions{Version: "test"}
			f := flag.NewFlagSet("agent", flag.ExitOnError)
			f.StringVar(&o.Dir, "run", "", "")
			f.BoolVar(&o.Foreground, "foreground", false, "")
			f.IntVar(&o.Share.Host, "host", 0, "")
			f.IntVar(&o.Share.Hosts, "hosts", 0, "")
			f.StringVar(&o.Share.Address, "address", "", "")
			f.StringVar(&o.Share.Name, "host-name", "", "")
			f.StringVar(&o.Share.Peer, "peer", "", "")
			exit(errors.Join(f.Parse(os.Args[2:]), Agent(context.Background(), o)))
		case "conduct":
			var o ConductOptions
			f := flag.NewFlagSet("conduct", flag.ExitOnError)
			f.StringVar(&o.Dir, "run", "", "")
			f.BoolVar(&o.Foreground, "foreground", false, "")
			f.BoolVar(&o.Inside, "inside", false, "")
			err := errors.Join(f.Parse(os.Args[2:]), Conduct(context.Background(), o))
			if errors.Is(err, ErrRefused) {
				os.Exit(CodeRefused)
			}
			exit(err)
		case "remote":
			exit(Guard(os.Stdin, os.Stdout))
		case "rank":
			exit(fakeRank())
		case "launch":
			exit(fakeLaunch(os.Args[2], os.Args[3], os.Args[4] == "detach", os.Args[5]))
		}
	}
	// Agents and ranks inherit it: a program with the race detector would take a second to exit.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		exit(err)
	}
	os.Exit(m.Run())
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func exitOn(err error) {
	if err != nil {
		exit(err)
	}
}

// envAgentClock moves the clock of agents alone.
const envAgentClock = "BOOST_FAKE_AGENT_CLOCK"

func fakeLaunch(root, mode string, detach bool, after string) error {
	e := testExperiment(mode, 2)
	if text, ok := os.LookupEnv("BOOST_FAKE_RESTARTS"); ok {
		var err error
		if e.Where.MaxRestarts, err = strconv.Atoi(text); err != nil {
			return err
		}
	}
	h, err := Launch(context.Background(), NewStore(root), e, LaunchOptions{Detach: detach, After: after})
	if err != nil {
		return err
	}
	fmt.Println(h.Dir)
	_, err = h.Wait(context.Background())
	return err
}

// testExperiment is one of tp ranks whose fakes behave as mode says.
func testExperiment(mode string, tp int) experiment.Experiment {
	e := experiment.Default()
	e.Name = mode
	e.Parallel.Scheme, e.Parallel.TP = experiment.BTP, tp
	e.Train.Steps = 10
	return e
}

// fakeRank reads "mode" or "mode:rank" from the experiment's name: that rank misbehaves, the others
// wait for it in a collective.
func fakeRank() error {
	if len(os.Args) != 6 || os.Args[2] != "--run" || os.Args[4] != "--rank" {
		return fmt.Errorf("arguments %q", os.Args)
	}
	s, err := protocol.ReadSpec(os.Stdin)
	if err != nil {
		return err
	}
	go watchLifeline(s)
	f := fake{s: s, mode: s.Experiment.Name}
	if mode, who, ok := strings.Cut(f.mode, ":"); ok {
		if f.mode = mode; who != strconv.Itoa(s.Rank) {
			f.mode = "follow-" + mode
		}
	}
	board, err := flight.Open(os.NewFile(uintptr(s.BoardFD), "board"))
	if err != nil {
		return err
	}
	if f.note, err = board.Writer(s.LocalRank); err != nil {
		return err
	}
	if f.steps, err = record.OpenWriter(record.StepsPath(s.RunDir, s.Rank)); err != nil {
		return err
	}
	return f.run()
}

func watchLifeline(s protocol.RankSpec) {
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = protocol.WriteExit(s.RunDir, protocol.ExitRecord{Rank: s.Rank, Code: 1, Secondary: true, Step: 1, Cause: "its agent died", TSNanos: time.Now().UnixNano()})
	os.Exit(1)
}

type fake struct {
	s     protocol.RankSpec
	mode  string
	note  *flight.Writer
	steps *record.Writer
}

func (f *fake) run() error {
	switch f.mode {
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	case "spam":
		fmt.Print("\x1b]0;owned\x07\x1b[2Jhello\x1b[31m red\r\n", strings.Repeat("x", 5000), "\nrate 10%\rrate 100%\n\x1b[\n")
		fmt.Println("spam is over")
		fmt.Print("no newline")
		os.Exit(1)
	}
	if f.mode == "polite" || f.mode == "follow-polite" || f.mode == "long" {
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM)
		go func() {
			<-stop
			os.Exit(protocol.CodeCancelled)
		}()
	}
	for step := 1; step <= f.s.Experiment.Train.Steps; step++ {
		if err := f.step(step); err != nil {
			return err
		}
		time.Sleep(2 * time.Millisecond)
	}
	return nil
}

func (f *fake) step(step int) error {
	f.note.Set(step, kernels.Label{Phase: kernels.Forward, Layer: 2, Chunk: "attn.core", Op: "qkv.B"})
	if step == 3 {
		if err := f.misbehave(); err != nil {
			return err
		}
	}
	f.note.Done()
	l := record.NewStepLine(step)
	l.TSNanos, l.WallNanos, l.Loss = time.Now().UnixNano(), 1e6, 5/float64(step)
	return f.steps.Step(&l)
}

func (f *fake) misbehave() error {
	switch f.mode {
	case "ok":
	case "mortal", "follow-mortal": // it is killed from outside until the run was restarted twice
		if r, err := readRun(f.s.RunDir); err != nil || r.restartNumber() >= 2 {
			return err
		}
		if f.mode == "mortal" {
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		select {}
	case "crash":
		fmt.Println("about to fail")
		return errors.New("boom")
	case "record":
		_ = protocol.WriteExit(f.s.RunDir, protocol.ExitRecord{Rank: f.s.Rank, Code: 1, Cause: "loss is not a number", Step: 3, Operation: "head", TSNanos: time.Now().UnixNano()})
		os.Exit(1)
	case "follow-record":
		time.Sleep(30 * time.Millisecond)
		_ = protocol.WriteExit(f.s.RunDir, protocol.ExitRecord{Rank: f.s.Rank, Code: 1, Secondary: true, Cause: "its peer died", Step: 3, TSNanos: 1})
		os.Exit(1)
	case "panic":
		panic("lost its mind")
	case "early":
		os.Exit(0)
	case "late": // the disk keeps neither its record nor the other's
		time.Sleep(50 * time.Millisecond)
		return errors.New("cannot append")
	case "follow-late":
		fmt.Println("boost-tui: rank 1 failed at step 3: cannot append")
		os.Exit(protocol.CodeSecondary)
	case "fill":
		return fill(f.s.RunDir)
	default: // hang, stubborn, follow-…: in a collective for ever
		f.note.Wait(kernels.Label{Phase: kernels.Forward, Layer: 2, Chunk: "attn.in", Op: "qkv"})
		fmt.Println(stuck)
		select {}
	}
	return nil
}

// fill fills the disk and fails as a rank does whose step line cannot be written.
func fill(dir string) error {
	f, err := os.Create(filepath.Join(filepath.Dir(dir), "ballast"))
	if err != nil {
		return err
	}
	block := bytes.Repeat([]byte{1}, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	return errors.New("step line lost")
}

// launch starts a run in a fresh store.
func launch(t *testing.T, mode string, tp int, detach bool) *Handle {
	t.Helper()
	h, err := Launch(t.Context(), NewStore(t.TempDir()), testExperiment(mode, tp), LaunchOptions{Detach: detach})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sweep(t, h.Dir) })
	return h
}

// wait waits for the end and checks that no process is left and no file half-written.
func wait(t *testing.T, h *Handle) Info {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	in, err := h.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	gone(t, h.Dir, 5*time.Second)
	return in
}

// processes finds those that name the directory on their command line.
func processes(dir, role string) []int {
	var pids []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err != nil || !bytes.Contains(line, []byte(dir)) || !bytes.Contains(line, []byte("\x00"+role)) {
			continue
		}
		if st, err := procStat(pid); err == nil && st.state != 'Z' {
			pids = append(pids, pid)
		}
	}
	return pids
}

// gone waits until no process of the run is left and says how long that took.
func gone(t *testing.T, dir string, patience time.Duration) time.Duration {
	t.Helper()
	start := time.Now()
	for len(processes(dir, "")) > 0 {
		if time.Since(start) > patience {
			t.Fatalf("after %v there are still processes %v of %s", patience, processes(dir, ""), dir)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return time.Since(start)
}

// sweep ends what a failed test left.
func sweep(t *testing.T, dir string) {
	for _, pid := range processes(dir, "") {
		t.Logf("process %d was left over", pid)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// stuck is what a rank says once it is in a collective for ever.
const stuck = "waits for the others"

// inCollective waits until the ranks of a hanging run are in their collective, and have noted it.
func inCollective(t *testing.T, dir string, tp int) {
	t.Helper()
	eventually(t, "the ranks' collective", func() bool {
		for r := range tp {
			data, _ := os.ReadFile(record.LogPath(dir, r))
			if !bytes.Contains(data, []byte(stuck)) {
				return false
			}
		}
		return true
	})
}

// atStep3 waits until every rank has written two steps.
func atStep3(t *testing.T, dir string, tp int) {
	t.Helper()
	eventually(t, "the ranks' second step", func() bool {
		for r := range tp {
			data, _ := os.ReadFile(record.StepsPath(dir, r))
			if bytes.Count(data, []byte{'\n'}) < 2 {
				return false
			}
		}
		return true
	})
}
