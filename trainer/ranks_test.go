package trainer

import (
	"bytes"
	"context"
	"io"
	"math"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/cpu"
	"boost-tui/kernels/reference"
	"boost-tui/profiler/flight"
	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// small is an experiment that the reference device runs in an instant.
func small(t testing.TB, set map[string]string) experiment.Experiment {
	t.Helper()
	e := experiment.Default()
	for k, v := range map[string]string{"d": "16", "layers": "2", "heads": "4", "ff": "24", "vocab": "256", "rank": "4",
		"micro-batch": "2", "seq": "12", "steps": "10", "warmup": "3", "device": "cpu"} {
		if o, ok := set[k]; ok {
			v = o
		}
		if err := e.Set(k, v); err != nil {
			t.Fatal(err)
		}
	}
	for k, v := range set {
		if err := e.Set(k, v); err != nil {
			t.Fatal(err)
		}
	}
	e, err := e.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

const testSecret = "a secret that is long enough"

// specs makes the specifications of a run's ranks, with a socket for rank 0.
func specs(t testing.TB, dir string, e experiment.Experiment) []protocol.RankSpec {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	f, err := ln.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	world := e.Parallel.TP * e.Parallel.PP * e.Parallel.DP
	out := make([]protocol.RankSpec, world)
	for i := range out {
		out[i] = protocol.RankSpec{Schema: protocol.Schema, RunDir: dir, Rank: i, World: world, LocalRank: i, LocalWorld: world, Threads: 1,
			Rendezvous: ln.Addr().String(), Secret: testSecret, Experiment: e, Version: "test",
			SegmentFD: protocol.NoFD, BoardFD: protocol.NoFD, ListenerFD: protocol.NoFD}
	}
	out[0].ListenerFD = detach(t, f)
	return out
}

// detach gives a descriptor that the file's finalizer does not close.
func detach(t testing.TB, f *os.File) int {
	t.Helper()
	fd, err := dup(f)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	return fd
}

// share gives ranks of this process one segment and one board.
func share(t testing.TB, all []protocol.RankSpec) {
	t.Helper()
	segment, err := cpu.NewSegment()
	if err != nil {
		t.Fatal(err)
	}
	defer segment.Close()
	board, err := flight.Create(len(all))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { board.Close() })
	for i := range all {
		if all[i].SegmentFD, err = dup(segment); err != nil {
			t.Fatal(err)
		}
		if all[i].BoardFD, err = dup(board.File()); err != nil {
			t.Fatal(err)
		}
	}
}

// job is ranks that run in this process.
type job struct {
	dir   string
	e     experiment.Experiment
	logs  []lockedBuffer
	errs  []error
	cpu   bool           // on the cpu device, else on the reference
	exits []atomic.Int32 // how often each rank's process would have been ended
	// prepare changes the run directory beforehand.
	prepare func(dir string)
	// wrap puts something round the device of a rank.
	wrap     func(rank int, d kernels.Device) kernels.Device
	lifeline func(rank int) io.Reader
	ctx      func(rank int) context.Context
	launcher int // descriptor that hangs up when the program in front is gone; 0: none
}

// run runs all ranks to their end.
func (j *job) run(t testing.TB) *job {
	t.Helper()
	j.dir = t.TempDir()
	if j.prepare != nil {
		j.prepare(j.dir)
	}
	all := specs(t, j.dir, j.e)
	for i := range all {
		all[i].LauncherFD = j.launcher
	}
	j.logs, j.errs, j.exits = make([]lockedBuffer, len(all)), make([]error, len(all)), make([]atomic.Int32, len(all))
	w := &reference.World{}
	if j.cpu {
		share(t, all)
	}
	var wg sync.WaitGroup
	for i, s := range all {
		wg.Go(func() {
			ctx, lifeline := context.Background(), io.Reader(nil)
			if j.ctx != nil {
				ctx = j.ctx(i)
			}
			if j.lifeline != nil {
				lifeline = j.lifeline(i)
			}
			j.errs[i] = run(ctx, s, lifeline, world{out: &j.logs[i], exit: func(int) { j.exits[i].Add(1) },
				open: func(s protocol.RankSpec) (kernels.Device, error) {
					d, err := kernels.Device(reference.New(w, i)), error(nil)
					if j.cpu {
						d, err = openDevice(s)
					}
					if j.wrap != nil && err == nil {
						d = j.wrap(i, d)
					}
					return d, err
				}})
		})
	}
	wg.Wait()
	return j
}

// ok fails the test where a rank failed.
func (j *job) ok(t testing.TB) *job {
	t.Helper()
	for i, err := range j.errs {
		if err != nil {
			t.Fatalf("rank %d: %v\n%s", i, err, j.logs[i].String())
		}
	}
	return j
}

// losses are the losses of a rank's step lines, in order.
func losses(t testing.TB, dir string, rank int) []float64 {
	t.Helper()
	var out []float64
	for _, l := range lines(t, dir, rank) {
		out = append(out, l.Loss)
	}
	return out
}

func lines(t testing.TB, dir string, rank int) []record.StepLine {
	t.Helper()
	b, err := os.ReadFile(record.StepsPath(dir, rank))
	if err != nil {
		t.Fatal(err)
	}
	var out []record.StepLine
	for line := range bytes.Lines(b) {
		var l record.StepLine
		if err := l.Decode(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out = append(out, l)
	}
	return out
}

// apart is the largest difference between two loss curves.
func apart(a, b []float64) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	worst := 0.0
	for i := range a {
		worst = max(worst, math.Abs(a[i]-b[i]))
	}
	return worst
}

// lockedBuffer collects a log that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
