// Command ui makes run directories for measuring the terminal UI: a finished run of many steps, or one
// that grows while somebody watches. scripts/bench.sh calls it; the files are what a real run leaves.
//
//	ui make RUNS STEPS        a finished run of two ranks; prints its id
//	ui store RUNS N           N finished runs, as an archive that is unpacked would leave them
//	ui live RUNS STEPS RATE [HOSTS RANKS]
//	                          a run of STEPS steps so far that gains RATE steps a second until it is ended, of
//	                          RANKS ranks on each of HOSTS hosts (1 host, 2 ranks)
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"boost-tui/experiment"
	"boost-tui/profiler/record"
	"boost-tui/runner"
	"boost-tui/runner/protocol"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "ui:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	usage := errors.New("usage: ui make RUNS STEPS | ui store RUNS N | ui live RUNS STEPS RATE [HOSTS RANKS]")
	if len(args) < 3 {
		return usage
	}
	numbers := make([]float64, len(args)-2)
	for i, text := range args[2:] {
		var err error
		if numbers[i], err = strconv.ParseFloat(text, 64); err != nil || !(numbers[i] > 0) {
			return fmt.Errorf("%q is no positive number", text)
		}
	}
	n := int(numbers[0])
	switch {
	case args[0] == "make" && len(args) == 3:
		return finished(ctx, args[1], n)
	case args[0] == "store" && len(args) == 3:
		return fill(ctx, args[1], n)
	case args[0] == "live" && len(args) == 4:
		return live(ctx, args[1], n, numbers[1], shape{1, 2})
	case args[0] == "live" && len(args) == 6:
		return live(ctx, args[1], n, numbers[1], shape{int(numbers[2]), int(numbers[3])})
	}
	return usage
}

// shape is where the ranks of a run are.
type shape struct{ hosts, ranks int } // ranks on each host

func (s shape) world() int { return s.hosts * s.ranks }

func (s shape) names() (names []string) {
	for i := range s.hosts {
		names = append(names, fmt.Sprintf("node%03d", i+1))
	}
	return names
}

// growing is a run directory that is being written.
type growing struct {
	id, dir string
	shape   shape
	steps   []*record.Writer
	rollup  *record.RollupWriter
	next    int
}

func create(root string, total int, s shape) (*growing, error) {
	e := experiment.Default()
	e.Name, e.Parallel.TP, e.Parallel.DP, e.Train.Steps = "benchmark", min(s.world(), 2), max(1, s.world()/2), total
	e, err := e.Resolve()
	if err != nil {
		return nil, err
	}
	root, err = filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	o := runner.CreateOptions{Argv: []string{"bench"}}
	if s.hosts > 1 {
		o.Hosts = s.names()
	}
	r, dir, err := runner.NewStore(root).Create(e, o)
	if err != nil {
		return nil, err
	}
	g := &growing{id: r.ID, dir: dir, next: 1, shape: s}
	numbers := make([]int, s.world())
	for i := range numbers {
		numbers[i] = i
		w, err := record.OpenWriter(record.StepsPath(dir, i))
		if err != nil {
			return nil, err
		}
		g.steps = append(g.steps, w)
	}
	g.rollup, err = record.OpenRollupWriter(dir, numbers)
	return g, err
}

// step writes one step of all ranks: times that wander, a loss that falls.
func (g *growing) step(at time.Time) error {
	for rank, w := range g.steps {
		l := record.NewStepLine(g.next)
		x := float64(g.next)
		wall := int64(24e6 + 2e6*math.Sin(x/37+float64(rank)) + 1e6*math.Sin(x*1.7))
		l.TSNanos, l.WallNanos = at.UnixNano(), wall
		l.ComputeNanos, l.ExposedNanos, l.MemNanos = wall*7/10, wall*2/10, wall/20
		l.IdleNanos = wall - l.ComputeNanos - l.ExposedNanos - l.MemNanos
		l.OverlapNanos = wall / 20
		l.CommNanos, l.WaitNanos = l.ExposedNanos+l.OverlapNanos, wall/10
		l.Collectives, l.CommBytes, l.Tokens = 46, 4227084, 1024
		l.Loss, l.GradNorm, l.LR = 2+3.5*math.Exp(-x/2000)+0.05*math.Sin(x), 0.8, 3e-3
		if err := w.Step(&l); err != nil {
			return err
		}
	}
	g.next++
	return nil
}

func (g *growing) write(ctx context.Context, n int) error {
	start := time.Now().Add(-time.Duration(n) * 24 * time.Millisecond)
	for i := range n {
		if err := g.step(start.Add(time.Duration(i) * 24 * time.Millisecond)); err != nil {
			return err
		}
		if i%4096 == 4095 || i == n-1 { // ranks may not run far ahead of the rollup
			if _, err := g.rollup.Poll(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *growing) close() error {
	err := g.rollup.Close()
	for _, w := range g.steps {
		err = errors.Join(err, w.Close())
	}
	return err
}

func finished(ctx context.Context, root string, steps int) error {
	g, err := create(root, steps, shape{1, 2})
	if err != nil {
		return err
	}
	if err := errors.Join(g.write(ctx, steps), g.close()); err != nil {
		return err
	}
	now := time.Now()
	r := runner.Result{Schema: runner.Schema, State: runner.Finished, Started: now.Add(-time.Hour), Ended: now}
	for i := range g.shape.world() {
		r.Ranks = append(r.Ranks, runner.RankExit{Rank: i})
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	fmt.Println(g.id)
	return protocol.WriteFile(filepath.Join(g.dir, protocol.ResultFile), data)
}

func live(ctx context.Context, root string, steps int, rate float64, sh shape) error {
	g, err := create(root, steps+1_000_000, sh)
	if err != nil {
		return err
	}
	if err := g.write(ctx, steps); err != nil {
		return errors.Join(err, g.close())
	}
	// An agent that cannot be looked at from here: the heartbeat alone says that the run goes on.
	if err := protocol.WriteFile(filepath.Join(g.dir, protocol.AgentFile), []byte(`{"schema":1}`)); err != nil {
		return errors.Join(err, g.close())
	}
	fmt.Println(g.id)
	return errors.Join(g.grow(ctx, rate), g.close())
}

// grow adds steps at an even pace and samples of the ranks once a second until the context ends.
func (g *growing) grow(ctx context.Context, rate float64) (err error) {
	var health []*record.Writer
	defer func() {
		for _, w := range health {
			err = errors.Join(err, w.Close())
		}
	}()
	for _, name := range g.shape.names() {
		w, err := record.OpenWriter(record.HealthPath(g.dir, name))
		if err != nil {
			return err
		}
		health = append(health, w)
	}
	tick := time.NewTicker(time.Duration(float64(time.Second) / rate))
	defer tick.Stop()
	var beat time.Time
	for {
		now := time.Now()
		if now.Sub(beat) >= time.Second {
			beat = now
			if err := g.beat(health, now); err != nil {
				return err
			}
		}
		if err := g.step(now); err != nil {
			return err
		}
		if _, err := g.rollup.Poll(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// beat renews the heartbeat and samples every rank and host.
func (g *growing) beat(hosts []*record.Writer, now time.Time) error {
	for i, w := range hosts {
		for r := range g.shape.ranks {
			l := record.NewHealthLine(record.KindCPU, now.UnixNano())
			l.Rank, l.CPUPercent, l.RSSBytes, l.Threads = int64(i*g.shape.ranks+r), 90+5*math.Sin(float64(now.Unix())), 80<<20, 9
			if err := w.Health(&l); err != nil {
				return err
			}
		}
		l := record.NewHealthLine(record.KindHost, now.UnixNano())
		l.CPUPercent, l.MemUsedBytes = 85, 8<<30
		if err := w.Health(&l); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(g.dir, protocol.HeartbeatFile), nil, protocol.FileMode)
}
