package trainer

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/kernels/cpu"
	"boost-tui/profiler/flight"
	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"

	"golang.org/x/sys/unix"
)

// envRank makes this test binary a rank, as `boost-tui rank` is one.
const envRank = "BOOST_TRAINER_TEST_RANK"

func TestMain(m *testing.M) {
	if os.Getenv(envRank) == "" {
		os.Exit(m.Run())
	}
	spec, err := protocol.ReadSpec(os.Stdin)
	if err == nil {
		err = Run(context.Background(), spec, os.Stdin)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(ExitCode(err))
}

// processes are the ranks of a run, each a process, as the agent starts them.
type processes struct {
	dir   string
	cmds  []*exec.Cmd
	lines []io.WriteCloser // lifelines
	done  []chan struct{}
	logs  []*lockedBuffer
}

func start(t *testing.T, e experiment.Experiment) *processes {
	t.Helper()
	p := &processes{dir: t.TempDir()}
	all := specs(t, p.dir, e)
	segment, err := cpu.NewSegment()
	if err != nil {
		t.Fatal(err)
	}
	defer segment.Close()
	board, err := flight.Create(len(all))
	if err != nil {
		t.Fatal(err)
	}
	defer board.Close()
	listener := os.NewFile(uintptr(all[0].ListenerFD), "listener")
	defer listener.Close()
	for i, s := range all {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), envRank+"=1")
		cmd.ExtraFiles = []*os.File{segment, board.File()}
		s.SegmentFD, s.BoardFD = 3, 4
		if i == 0 {
			cmd.ExtraFiles = append(cmd.ExtraFiles, listener)
			s.ListenerFD = 5
		}
		log := &lockedBuffer{}
		cmd.Stdout, cmd.Stderr = log, log
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if err := protocol.WriteSpec(in, s); err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			_ = cmd.Wait() // its state is looked at
			close(done)
		}()
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			<-done
			if t.Failed() {
				t.Logf("rank %d:\n%s", i, log.String())
			}
		})
		p.cmds, p.lines, p.done, p.logs = append(p.cmds, cmd), append(p.lines, in), append(p.done, done), append(p.logs, log)
	}
	return p
}

// code waits for a rank's end and gives its exit code.
func (p *processes) code(t *testing.T, rank int, limit time.Duration) int {
	t.Helper()
	select {
	case <-p.done[rank]:
	case <-time.After(limit):
		t.Fatalf("rank %d is still there after %v", rank, limit)
	}
	return p.cmds[rank].ProcessState.ExitCode()
}

// reach waits until a rank has done a step.
func (p *processes) reach(t *testing.T, rank, step int) {
	t.Helper()
	for range 1000 {
		b, _ := os.ReadFile(record.StepsPath(p.dir, rank))
		if bytes.Count(b, []byte("\n")) >= step {
			return
		}
		select {
		case <-p.done[rank]:
			t.Fatalf("rank %d ended before step %d", rank, step)
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Fatalf("rank %d does not reach step %d", rank, step)
}

func (p *processes) exit(t *testing.T, rank int) protocol.ExitRecord {
	t.Helper()
	e, err := protocol.ReadExit(p.dir, rank)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func endless(t *testing.T) experiment.Experiment {
	return small(t, map[string]string{"tp": "2", "steps": "1000000"})
}

func TestProcessesTrain(t *testing.T) {
	p := start(t, small(t, map[string]string{"tp": "2"}))
	for rank := range 2 {
		if c := p.code(t, rank, 30*time.Second); c != 0 {
			t.Errorf("rank %d exits %d", rank, c)
		}
	}
	if d := apart(losses(t, p.dir, 0), losses(t, p.dir, 1)); d != 0 || len(losses(t, p.dir, 0)) != 10 {
		t.Errorf("ranks are %g apart", d)
	}
}

func TestKilledRankIsNamed(t *testing.T) {
	for victim := range 2 {
		t.Run(fmt.Sprint(victim), func(t *testing.T) {
			p := start(t, endless(t))
			other := 1 - victim
			p.reach(t, other, 3)
			_ = p.cmds[victim].Process.Kill()
			if c := p.code(t, other, 5*time.Second); c != protocol.CodeSecondary {
				t.Errorf("rank %d exits %d", other, c)
			}
			e := p.exit(t, other)
			if !e.Secondary || !strings.Contains(e.Cause, fmt.Sprintf("rank %d failed", victim)) || e.Step < 3 {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestAgentsDeathEndsRanks(t *testing.T) {
	p := start(t, endless(t))
	p.reach(t, 0, 3)
	for _, l := range p.lines {
		l.Close()
	}
	for rank := range 2 {
		if c := p.code(t, rank, 2*time.Second); c != protocol.CodeSecondary {
			t.Errorf("rank %d exits %d", rank, c)
		}
		if e := p.exit(t, rank); !e.Secondary || !strings.Contains(e.Cause, "agent died") {
			t.Errorf("rank %d: %+v", rank, e)
		}
	}
}

// A rank whose peer hangs is blocked in a collective; it must leave all the same.
func TestAgentsDeathEndsBlockedRank(t *testing.T) {
	p := start(t, endless(t))
	p.reach(t, 0, 3)
	_ = p.cmds[1].Process.Signal(syscall.SIGSTOP)
	time.Sleep(100 * time.Millisecond)
	p.lines[0].Close()
	if c := p.code(t, 0, 2*time.Second); c != protocol.CodeSecondary {
		t.Errorf("exits %d", c)
	}
	e := p.exit(t, 0)
	if !strings.Contains(e.Cause, "agent died") || e.Operation == "" || e.Step < 3 {
		t.Errorf("%+v", e)
	}
}

func TestTermFinishesTheStep(t *testing.T) {
	p := start(t, endless(t))
	p.reach(t, 0, 3)
	for _, c := range p.cmds {
		_ = c.Process.Signal(syscall.SIGTERM)
	}
	for rank := range 2 {
		if c := p.code(t, rank, 5*time.Second); c != protocol.CodeCancelled {
			t.Errorf("rank %d exits %d", rank, c)
		}
		if e := p.exit(t, rank); e.Cause != "was told to stop by SIGTERM" || e.Secondary || e.Step != len(lines(t, p.dir, rank)) {
			t.Errorf("rank %d: %+v", rank, e)
		}
	}
}

func TestFullDiskIsSaid(t *testing.T) {
	p := &job{e: small(t, nil)}
	p.prepare = func(dir string) {
		steps := filepath.Dir(record.StepsPath(dir, 0))
		if err := os.MkdirAll(steps, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("tmpfs", steps, "tmpfs", 0, "size=4k"); err != nil {
			t.Skipf("a small file system cannot be mounted here (%v): run this as root", err)
		}
		t.Cleanup(func() { _ = unix.Unmount(steps, unix.MNT_DETACH) })
		if err := os.WriteFile(filepath.Join(steps, "ballast"), make([]byte, 4096), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.run(t)
	e, err := protocol.ReadExit(p.dir, 0)
	if err != nil || !strings.Contains(e.Cause, "no space left") || e.Step != 1 {
		t.Errorf("%+v, %v", e, err)
	}
}
