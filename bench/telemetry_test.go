package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner"
	"boost-tui/tui/app"
	"boost-tui/tui/screen/live"
	"boost-tui/tui/testkit"

	"golang.org/x/sys/unix"
)

// What watching a large run must keep.
const (
	replyLimit = 100 * time.Millisecond // between a key and the frame after it
	rollupWait = 200 * time.Millisecond // between two looks of an agent at its ranks' files
)

// crowd is a run that is simulated: nothing of it is real but its files.
type crowd struct {
	hosts, ranks, steps int           // ranks in all
	pace                time.Duration // of a step; 0: as fast as it goes
}

// watched is what came of a crowd.
type watched struct {
	rollup  []record.RollupStep
	skipped int
	replies []reply // of the UI, each with all that it reads
}

// reply is what the UI took from a key to its frame.
type reply struct{ wall, cpu time.Duration }

// watch lets the ranks write their lines, an agent gather them, and the UI show them and answer keys, all at once.
func (c crowd) watch(t testing.TB) watched {
	t.Helper()
	run := testkit.RunDir{ID: "1129-1502-crowd", Experiment: testkit.Experiment(t, "tp=2", fmt.Sprint("dp=", c.ranks/2), fmt.Sprint("steps=", c.steps)),
		State: runner.Running, Ranks: c.ranks, Steps: 1, Wall: 0.1}
	for i := range c.hosts {
		run.Hosts = append(run.Hosts, fmt.Sprintf("node%03d", i+1))
	}
	info := run.Write(t, t.TempDir())
	numbers := make([]int, c.ranks)
	for i := range numbers {
		numbers[i] = i
	}
	rollup, err := record.OpenRollupWriter(info.Dir, numbers)
	if err != nil {
		t.Fatal(err)
	}
	written := make(chan struct{})
	var ranks, agent sync.WaitGroup
	var ranksErr, agentErr error
	ranks.Go(func() {
		defer close(written)
		ranksErr = c.write(run, info.Dir)
	})
	agent.Go(func() { agentErr = gather(rollup, written) })
	w := watched{replies: show(t, info, written)}
	ranks.Wait()
	agent.Wait()
	var badErr error
	w.skipped, badErr = rollup.Skipped()
	if err := errors.Join(ranksErr, agentErr, badErr, rollup.Close()); err != nil {
		t.Fatal(err)
	}
	if w.rollup, err = record.ReadRollup(info.Dir, 0, c.steps+1); err != nil {
		t.Fatal(err)
	}
	return w
}

// write is what the ranks do. Their first step is there already.
func (c crowd) write(run testkit.RunDir, dir string) (err error) {
	files := make([]*record.Writer, c.ranks)
	defer func() {
		for _, f := range files {
			if f != nil {
				err = errors.Join(err, f.Close())
			}
		}
	}()
	for i := range files {
		if files[i], err = record.OpenWriter(record.StepsPath(dir, i)); err != nil {
			return err
		}
	}
	for start, step := time.Now(), 2; step <= c.steps; step++ {
		for rank, f := range files {
			l := run.Line(rank, step)
			if err := f.Step(&l); err != nil {
				return err
			}
		}
		time.Sleep(time.Until(start.Add(time.Duration(step-1) * c.pace)))
	}
	return nil
}

// gather is what the agent of the first host does, and once more when all is written.
func gather(w *record.RollupWriter, written <-chan struct{}) error {
	for over := false; ; {
		if _, err := w.Poll(context.Background()); err != nil || over {
			return err
		}
		select {
		case <-written:
			over = true
		case <-time.After(rollupWait):
		}
	}
}

// show opens the run in the UI and presses keys ten times a second, until everything is written.
func show(t testing.TB, info runner.Info, written <-chan struct{}) (replies []reply) {
	t.Helper()
	runtime.LockOSThread() // its processor time is this thread's
	defer runtime.UnlockOSThread()
	env := testkit.Env(t, &testkit.Store{Infos: []runner.Info{info}})
	d := testkit.NewDriver(t, 160, 48, app.Options{Env: env, Screens: testkit.One(live.New())})
	const pace = 100 * time.Millisecond
	for i := 0; ; i++ {
		start, cpu := time.Now(), threadTime(t)
		d.Advance(pace)
		d.Press([]string{"j", "k", "right", "left", "tab"}[i%5])
		if d.View() == "" {
			t.Error("the UI draws nothing")
		}
		replies = append(replies, reply{time.Since(start), threadTime(t) - cpu})
		select {
		case <-written:
			return replies
		case <-time.After(time.Until(start.Add(pace))):
		}
	}
}

func threadTime(t testing.TB) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Every line of every rank is in the rollup.
func (c crowd) complete(t testing.TB, w watched) {
	t.Helper()
	if w.skipped != 0 || len(w.rollup) != c.steps {
		t.Fatalf("%d lines were skipped, %d of %d steps are there", w.skipped, len(w.rollup), c.steps)
	}
	for i, r := range w.rollup {
		if r.Step != int64(i+1) || r.Ranks != c.ranks {
			t.Fatalf("step %d has %d ranks at place %d", r.Step, r.Ranks, i)
		}
	}
}

func TestCrowdLosesNoLine(t *testing.T) {
	c := crowd{hosts: 16, ranks: 128, steps: 60}
	c.complete(t, c.watch(t))
}

// BenchmarkCrowd is 1,024 ranks at ten steps a second for ten seconds.
func BenchmarkCrowd(b *testing.B) {
	c := crowd{hosts: 128, ranks: 1024, steps: 100, pace: 100 * time.Millisecond}
	var worst reply
	for b.Loop() {
		w := c.watch(b)
		c.complete(b, w)
		for _, r := range w.replies {
			worst = reply{max(worst.wall, r.wall), max(worst.cpu, r.cpu)}
		}
	}
	b.ReportMetric(float64(c.ranks*c.steps), "lines")
	b.ReportMetric(0, "lines-lost")
	b.ReportMetric(float64(worst.wall.Microseconds())/1000, "ms-worst-reply")
	b.ReportMetric(float64(worst.cpu.Microseconds())/1000, "ms-worst-reply-cpu")
	if worst.wall > replyLimit {
		b.Errorf("MISSED: the UI took %v to reply (%v of a processor), limit %v", worst.wall, worst.cpu, replyLimit)
	}
}
