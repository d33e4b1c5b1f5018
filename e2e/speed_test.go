package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// What the program promises about starting and stopping on two nodes, in seconds.
const (
	launchLimit = 1.0 // from `run` to the first step, beyond what reaching the nodes takes by itself
	// From whatever ends a run until nobody is left and its record says so, beyond KillWait. That counts as nothing: agents end
	// their ranks, also one that is stopped, before Slurm has anybody to kill.
	stopLimit = 2.0
)

// start is a way to start something on both nodes: what it takes when that is nothing of ours, and a run.
type start struct {
	name string
	bare func(p *program)
	args []string // of the program, before the experiment
	in   []string // the command that it runs within
}

// within is a job that is there before whatever starts.
var within = []string{"salloc", "-N2", "--exclusive"}

var starts = []start{
	// sbatch waits for the scheduler to come round, up to a second, before it starts anything; the run is a job as that one is.
	{"slurm", func(p *program) {
		out := filepath.Join(p.home(), fmt.Sprintf("bare-%d", time.Now().UnixNano()))
		p.user(p.t, "login", "sbatch", "--parsable", "-N2", "-o", out, "--wrap", "srun -N2 --ntasks-per-node=1 hostname")
		p.soon(doPatience, "the output of srun", func() bool {
			data, err := os.ReadFile(out)
			return err == nil && bytes.Count(data, []byte("\n")) == 2
		})
	}, places["slurm"], nil},
	{"slurm, in a job", func(p *program) {
		p.user(p.t, "login", append(slices.Clone(within), "srun", "-N2", "--ntasks-per-node=1", "hostname")...)
	}, places["slurm"], within},
	{"ssh", func(p *program) {
		var both sync.WaitGroup
		for _, node := range []string{"node1", "node2"} {
			both.Go(func() { p.user(p.t, "login", "ssh", "-o", "BatchMode=yes", node, "true") })
		}
		both.Wait()
	}, places["ssh"], nil},
}

// brief is a run whose first step costs next to nothing, and that goes on until it is stopped.
var brief = []string{"--size", "tiny", "--layers", "1", "--seq", "32", "--micro-batch", "2", "--tp", "2", "--steps", "50000"}

// BenchmarkLaunch times a run on two nodes from the command to its first step on both, and by turns what Slurm and ssh take to
// start nothing on the same nodes in the same way. beyond-s is the difference of the medians; of-limit is what part of the
// promise that is.
func BenchmarkLaunch(b *testing.B) {
	for _, s := range starts {
		b.Run(s.name, func(b *testing.B) {
			p := newProgram(b)
			q := *p
			q.within = s.in
			var bare, ours []float64
			for b.Loop() {
				began := time.Now()
				s.bare(p)
				bare = append(bare, time.Since(began).Seconds())

				began = time.Now()
				j, dir := q.launch(s.args)
				ours = append(ours, p.stepped(dir).Sub(began).Seconds())
				p.on("login", "cancel", filepath.Base(dir))
				j.wait(doPatience)
				p.gone(b, goneWithin)
				p.idle(b)
			}
			beyond := median(ours) - median(bare)
			b.ReportMetric(median(bare), "bare-s")
			b.ReportMetric(median(ours), "first-step-s")
			b.ReportMetric(beyond, "beyond-s")
			b.ReportMetric(beyond/launchLimit, "of-limit")
		})
	}
}

// stops are the ways to end a run.
var stops = []struct {
	name, where string
	do          func(p *program, j *job, id string)
}{
	{"slurm/cancel", "slurm", func(p *program, _ *job, id string) { p.start("login", "cancel", id) }},
	{"slurm/ctrl-C", "slurm", func(_ *program, j *job, _ string) { _ = j.cmd.Process.Signal(syscall.SIGINT) }},
	{"slurm/scancel", "slurm", func(p *program, _ *job, _ string) { p.user(p.t, "login", "scancel", "-u", userName) }},
	{"slurm/cancel, a rank is stopped", "slurm", stopRank},
	{"ssh/cancel", "ssh", func(p *program, _ *job, id string) { p.start("login", "cancel", id) }},
	{"ssh/ctrl-C", "ssh", func(_ *program, j *job, _ string) { _ = j.cmd.Process.Signal(syscall.SIGINT) }},
	{"ssh/cancel, a rank is stopped", "ssh", stopRank},
}

// stopRank cancels a run one of whose ranks hears nothing: it has to be killed.
func stopRank(p *program, _ *job, id string) {
	ranks := p.find(p.t, "node2", "rank", "")
	if len(ranks) == 0 {
		p.t.Fatal("no rank on node2")
	}
	_ = syscall.Kill(ranks[0].pid, syscall.SIGSTOP)
	p.start("login", "cancel", id)
}

// BenchmarkStop times the end of a run on two nodes: from whatever ends it until its record says so, `run` in front has ended,
// and nobody of it is left on any host.
func BenchmarkStop(b *testing.B) {
	for _, s := range stops {
		b.Run(s.name, func(b *testing.B) {
			p := newProgram(b)
			var recorded, gone []float64
			for b.Loop() {
				j, dir := p.launch(places[s.where])
				p.stepped(dir)
				p.reaches(dir, 5)
				began := time.Now()
				s.do(p, j, filepath.Base(dir))
				record := filepath.Join(dir, "result.json")
				p.soon(doPatience, "the result", func() bool { _, err := os.Stat(record); return err == nil })
				recorded = append(recorded, time.Since(began).Seconds())
				p.soon(doPatience, "the end of all", func() bool { return len(p.processes(b)) == 0 })
				gone = append(gone, time.Since(began).Seconds())
				p.idle(b)
			}
			b.ReportMetric(median(recorded), "recorded-s")
			b.ReportMetric(median(gone), "gone-s")
			b.ReportMetric(slices.Max(gone), "worst-s")
			b.ReportMetric(median(gone)/stopLimit, "of-limit")
		})
	}
}

// launch starts a run in front, under a name of its own, and gives its folder once it is there.
func (p *program) launch(where []string) (*job, string) {
	p.t.Helper()
	name := fmt.Sprintf("speed-%d", time.Now().UnixNano())
	j := p.start("login", append(append([]string{"run", "--json", "--name", name}, where...), brief...)...)
	var id string
	p.soon(20*time.Second, "the run in the store", func() bool { id = p.named(name); return id != "" })
	return j, p.see(filepath.Join(p.runs, id))
}

// stepped waits until both ranks have written down a step, and says when the second had.
func (p *program) stepped(dir string) time.Time {
	p.t.Helper()
	for rank := range 2 {
		p.soon(40*time.Second, fmt.Sprintf("a step of rank %d", rank), func() bool { return stepOf(dir, rank) > 0 })
	}
	return time.Now()
}

// soon is eventually with an eye that is quick enough to time something by.
func (p *program) soon(within time.Duration, what string, ok func() bool) {
	p.t.Helper()
	for end := time.Now().Add(within); !ok(); time.Sleep(4 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("%s: not within %v\n%v\n%s", what, within, p.processes(p.t), strings.TrimSpace(p.root(p.t, "squeue")))
		}
	}
}

func median(of []float64) float64 {
	of = slices.Sorted(slices.Values(of))
	if len(of) == 0 {
		return 0
	}
	return (of[(len(of)-1)/2] + of[len(of)/2]) / 2
}
