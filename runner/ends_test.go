package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"boost-tui/kernels"
	"boost-tui/profiler/flight"
	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"

	"golang.org/x/sys/unix"
)

// TestAgentGoneAndItsFileDamaged: whoever launched knows that the agent is gone, whatever the directory says.
func TestAgentGoneAndItsFileDamaged(t *testing.T) {
	for _, text := range []string{"", "{", `{"schema":1}`} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			h := launch(t, "hang", 2, false)
			atStep3(t, h.Dir, 2)
			start := time.Now()
			kill(t, h.Dir, "agent")
			put(t, filepath.Join(h.Dir, protocol.AgentFile), text)
			if err := h.Follow(t.Context(), func(record.StepLine) {}); err != nil {
				t.Error(err)
			}
			in := wait(t, h)
			if took := time.Since(start); in.State != Failed || took > 5*time.Second {
				t.Fatalf("after %v %s: %s", took, in.State, in.Cause)
			}
		})
	}
}

// TestDamagedAgentFile: without a launcher the heartbeat decides, and soon.
func TestDamagedAgentFile(t *testing.T) {
	s := NewStore(t.TempDir())
	_, dir := create(t, s, "damaged")
	put(t, filepath.Join(dir, protocol.AgentFile), "")
	if err := beat(dir, 0); err != nil {
		t.Fatal(err)
	}
	for age, want := range map[time.Duration]State{0: Running, staleHere + time.Second: Lost} {
		agedHeart(t, dir, age)
		if in := readInfo(dir, here(), time.Now()); in.State != want {
			t.Errorf("a heartbeat of %v ago: %s: %s", age, in.State, in.Cause)
		}
	}
}

// agedHeart makes the last beat as old as it says.
func agedHeart(t *testing.T, dir string, age time.Duration) {
	t.Helper()
	at := time.Now().Add(-age)
	if err := os.Chtimes(filepath.Join(dir, protocol.HeartbeatFile), at, at); err != nil {
		t.Fatal(err)
	}
}

// TestEarlyInterrupt: a program in front that is told to end while it launches ends the run as at any other time.
func TestEarlyInterrupt(t *testing.T) {
	for _, after := range []time.Duration{0, 2 * time.Millisecond, 10 * time.Millisecond, 40 * time.Millisecond} {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			s := NewStore(t.TempDir())
			time.AfterFunc(after, func() { cancel(context.Canceled) })
			h, err := Launch(ctx, s, testExperiment("long", 2), LaunchOptions{})
			if err != nil {
				if infos, errs := s.List(t.Context()); !errors.Is(err, context.Canceled) || len(infos)+len(errs) != 0 {
					t.Fatalf("%v; runs %v %v", err, infos, errs)
				}
				return
			}
			t.Cleanup(func() { sweep(t, h.Dir) })
			in, err := h.Wait(ctx)
			if err != nil || in.State != Cancelled || in.Cause != "interrupted" {
				t.Fatalf("%s: %s, %v", in.State, in.Cause, err)
			}
			gone(t, h.Dir, 5*time.Second)
		})
	}
}

// TestStoppedAgent: an agent that is stopped is woken by whoever ends its run.
func TestStoppedAgent(t *testing.T) {
	for _, detach := range []bool{false, true} {
		t.Run(fmt.Sprint("detach ", detach), func(t *testing.T) {
			t.Parallel()
			h := launch(t, "polite", 2, detach)
			atStep3(t, h.Dir, 2)
			if err := syscall.Kill(processes(h.Dir, "agent")[0], syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			var in Info
			var err error
			if detach {
				in, err = Cancel(t.Context(), NewStore(filepath.Dir(h.Dir)), h.Run.ID, "interrupted")
			} else {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				in, err = h.Wait(ctx)
			}
			if took := time.Since(start); err != nil || in.State != Cancelled || in.Cause != "interrupted" || took > 5*time.Second {
				t.Fatalf("after %v %s: %s, %v", took, in.State, in.Cause, err)
			}
			gone(t, h.Dir, 5*time.Second)
		})
	}
}

// TestToldFromOutside: a signal that its agent did not send is a rank's death.
func TestToldFromOutside(t *testing.T) {
	t.Parallel()
	h := launch(t, "polite:1", 2, false)
	atStep3(t, h.Dir, 2)
	for _, pid := range processes(h.Dir, "rank") {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.HasSuffix(string(line), "--rank\x001\x00") {
			if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
	}
	in := wait(t, h)
	if in.State != Failed || !strings.HasPrefix(in.Cause, "rank 1: was told to stop") || !strings.Contains(in.Cause, "from outside (step ") {
		t.Fatalf("%s: %s", in.State, in.Cause)
	}
}

// TestFollowersAreNotBlamed: a rank that could not write its record says by its exit code that it only followed.
func TestFollowersAreNotBlamed(t *testing.T) {
	t.Parallel()
	h := launch(t, "late:1", 2, false)
	in := wait(t, h)
	if in.State != Failed || !strings.HasPrefix(in.Cause, "rank 1: ended with exit code 1: cannot append") {
		t.Fatalf("%s: %s", in.State, in.Cause)
	}
	if e, err := protocol.ReadExit(h.Dir, 0); err != nil || !e.Secondary {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestDeletedEndsTheRun: nobody would ever find it again.
func TestDeletedEndsTheRun(t *testing.T) {
	for name, remove := range map[string]func(dir string) error{
		"deleted": os.RemoveAll,
		"moved":   func(dir string) error { return os.Rename(dir, dir+".away") },
		"replaced": func(dir string) error {
			return errors.Join(os.Rename(dir, dir+".away"), os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, protocol.RunFile), nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := launch(t, "polite", 2, true)
			atStep3(t, h.Dir, 2)
			eventually(t, "the directory to go", func() bool { return remove(h.Dir) == nil })
			t.Logf("gone after %v", gone(t, h.Dir, 2*time.Second))
			left, _ := os.ReadDir(h.Dir)
			for _, e := range left {
				if e.Name() != protocol.RunFile && e.Name() != protocol.HeartbeatFile {
					t.Errorf("%s was written where the run no longer is", e.Name())
				}
			}
		})
	}
}

func TestWatchdog(t *testing.T) {
	board, err := flight.Create(2)
	if err != nil {
		t.Fatal(err)
	}
	defer board.Close()
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	c := &crew{board: board, ranks: []*rank{{index: 0, proc: self}, {index: 1, proc: self}}}
	var w [2]*flight.Writer
	for i := range w {
		if w[i], err = board.Writer(i); err != nil {
			t.Fatal(err)
		}
	}
	label := kernels.Label{Phase: kernels.Forward, Layer: 1, Chunk: "attn.in", Op: "qkv"}
	var dog watchdog
	now := time.Now()
	after := func(d time.Duration) string { now = now.Add(d); return dog.look(c.standings, now) }
	stands := func(step int) {
		w[0].SetStep(step)
		w[0].Wait(label)
		w[1].Set(step, kernels.Label{Phase: kernels.Forward, Layer: 0, Chunk: "embed", Op: "rows"})
	}
	stands(1)
	if s := after(0) + after(firstStall-time.Minute); s != "" {
		t.Errorf("in the first step: %s", s)
	}
	w[0].Arrived()
	stands(2) // another one, under the same label
	if s := after(2*time.Second) + after(laterStall-time.Second); s != "" {
		t.Errorf("too early: %s", s)
	}
	s := after(3 * time.Second)
	for _, want := range []string{"rank 0 has waited 2m2s at step 2 in forward.l1.attn.in/qkv", "rank 1, which is at step 2, forward.l0.embed/rows"} {
		if !strings.Contains(s, want) {
			t.Errorf("%q lacks %q", s, want)
		}
	}
	c.ranks[0].ended = true
	if s := after(time.Minute); s != "" {
		t.Errorf("of a rank that has ended: %s", s)
	}
}

func TestEnvironment(t *testing.T) {
	got := environment([]string{"HOME=/h", "OPENBLAS_CORETYPE=Haswell", "MKL_CBWR=COMPATIBLE", "OMP_NUM_THREADS=7", "BOOST_X=1", "EDITOR=vi", "PYTHONPATH=p"}, 2)
	want := []string{"HOME=/h", "OPENBLAS_CORETYPE=Haswell", "MKL_CBWR=COMPATIBLE", "OMP_NUM_THREADS=7", "BOOST_X=1",
		"OPENBLAS_NUM_THREADS=2", "MKL_NUM_THREADS=2", "BLIS_NUM_THREADS=2"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestLimits(t *testing.T) {
	if err := CheckLimits(2, 0); err != nil {
		t.Skip(err)
	}
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	// One byte below what a run needs: go test itself writes a file meanwhile, which has passed a mebibyte.
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: leastFile - 1, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
			t.Fatal(err)
		}
	}()
	root := filepath.Join(t.TempDir(), "runs")
	_, err := Launch(t.Context(), NewStore(root), testExperiment("ok", 1), LaunchOptions{})
	if err == nil || !strings.Contains(err.Error(), "ulimit -f") {
		t.Error(err)
	}
	if _, err := os.Stat(root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was made: %v", err)
	}
}

func TestJoin(t *testing.T) {
	if join(nil, nil) != nil {
		t.Error("nothing is an error")
	}
	a, b := errors.New("a is damaged"), fmt.Errorf("b: %w", ErrNewerSchema)
	err := join(a, nil, b)
	if err.Error() != "a is damaged; "+b.Error() || !errors.Is(err, ErrNewerSchema) {
		t.Errorf("%v", err)
	}
}

// TestTails: the reader gives a record its log where no agent was left to do it.
func TestTails(t *testing.T) {
	_, dir := create(t, NewStore(t.TempDir()), "tails")
	for rank := range 2 {
		put(t, record.LogPath(dir, rank), "\x1b[31mfirst\nlast\n")
		if err := protocol.WriteExit(dir, protocol.ExitRecord{Rank: rank, Code: rank}); err != nil {
			t.Fatal(err)
		}
	}
	exits, err := Exits(dir)
	if err != nil || len(exits) != 2 || exits[0].LogTail != nil || !slices.Equal(exits[1].LogTail, []string{"first", "last"}) {
		t.Errorf("%+v, %v", exits, err)
	}
}

// TestTidy: what a killed program left is removed by the next one, and nothing else.
func TestTidy(t *testing.T) {
	s := NewStore(t.TempDir())
	scratch, remove, err := s.Scratch()
	if err != nil {
		t.Fatal(err)
	}
	create(t, scratch, "thrown-away")
	dead, err := self()
	if err != nil {
		t.Fatal(err)
	}
	dead.StartTicks++ // another process that had this pid
	foreign := dead
	foreign.Host += "x"
	keep := []string{newPrefix + foreign.mark() + "-1", newPrefix + "1234", ".other", filepath.Base(scratch.Root)}
	drop := []string{newPrefix + dead.mark() + "-1", scratchPrefix + dead.mark() + "-2"}
	for _, name := range slices.Concat(keep[:3], drop) {
		if err := os.MkdirAll(filepath.Join(s.Root, name, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	outside := t.TempDir()
	put(t, filepath.Join(outside, "mine"), "x")
	link := filepath.Join(s.Root, newPrefix+dead.mark()+"-3")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	create(t, s, "next")
	for _, name := range keep {
		if _, err := os.Stat(filepath.Join(s.Root, name)); err != nil {
			t.Error(err)
		}
	}
	for _, name := range drop {
		if _, err := os.Stat(filepath.Join(s.Root, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(outside, "mine")); err != nil {
		t.Error(err)
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
	if infos, errs := s.List(t.Context()); len(infos) != 1 || len(errs) != 0 {
		t.Errorf("%d runs, %v", len(infos), errs)
	}
}
