package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// stroke is a fault that may meet any run at any moment.
type stroke struct {
	name   string
	spares bool                                                                      // it asks nobody to end the run: one that is cancelled says something false
	blamed bool                                                                      // the cause of a run that fails of it names the host, which nobody can mistake
	names  *regexp.Regexp                                                            // what the cause of a run that fails of it has; nil: anything
	where  string                                                                    // the only place that it can happen at; empty: any
	extra  []string                                                                  // of the command
	before func(*scene)                                                              // the start of the run
	do     func(t *testing.T, p *program, r *rand.Rand, id string) (harmed []string) // the hosts to heal
}

var strokes = []stroke{
	{name: "cut", spares: true, names: naming("node[12]"), do: nodeFault("cut")},
	{name: "short cut", spares: true, names: naming("node[12]"), do: func(t *testing.T, p *program, r *rand.Rand, _ string) []string {
		node := anyNode(r)
		p.do(t, "cut", node)
		time.Sleep(time.Duration(r.IntN(4000)) * time.Millisecond)
		return []string{node}
	}},
	{name: "crash", spares: true, blamed: true, names: naming("node[12]"), do: nodeFault("crash")},
	{name: "hang", spares: true, names: naming("node[12]"), do: nodeFault("hang")},
	{name: "kill slurmd", spares: true, do: nodeFault("kill")},
	{name: "cut or crash of both nodes", spares: true, do: func(t *testing.T, p *program, r *rand.Rand, _ string) []string {
		both := []string{"node1", "node2"}
		for _, node := range both {
			p.do(t, []string{"cut", "crash", "hang"}[r.IntN(3)], node)
		}
		return both
	}},
	// For longer than SlurmdTimeout the controller, which is there, would lose all nodes.
	{name: "short cut of the login host", spares: true, do: func(t *testing.T, p *program, r *rand.Rand, _ string) []string {
		p.do(t, "cut", "login")
		time.Sleep(time.Duration(r.IntN(8000)) * time.Millisecond)
		p.do(t, "heal", "login")
		return nil
	}},
	{name: "slow", do: func(t *testing.T, p *program, r *rand.Rand, id string) []string {
		node := anyNode(r)
		p.do(t, "slow", node, "10mbit", "20ms")
		time.Sleep(time.Second)
		p.on("node3", "cancel", id)
		return []string{node}
	}},
	{name: "the shared file system is full for a while", spares: true, before: onSmallFS, do: func(t *testing.T, p *program, r *rand.Rand, _ string) []string {
		p.do(t, "fill", "login", p.small())
		time.Sleep(time.Duration(r.IntN(8000)) * time.Millisecond)
		p.do(t, "unfill", "login", p.small())
		return nil
	}},
	{name: "cancel", do: func(_ *testing.T, p *program, r *rand.Rand, id string) []string {
		p.on([]string{"login", "node1", "node3"}[r.IntN(3)], "cancel", id)
		return nil
	}},
	{name: "scancel", do: func(t *testing.T, p *program, _ *rand.Rand, _ string) []string {
		p.root(t, "scancel", "-u", userName)
		return nil
	}},
	{name: "preemption", where: "slurm", extra: []string{"--partition", "lowcancel"}, do: func(t *testing.T, p *program, _ *rand.Rand, _ string) []string {
		p.root(t, "sbatch", "-p", "high", "-N", strconv.Itoa(nodeCount), "--exclusive", "-o", "/dev/null", "--wrap", "sleep 3")
		return nil
	}},
	{name: "SIGKILL of any process of ours", do: func(t *testing.T, p *program, r *rand.Rand, _ string) []string {
		return anyProcess(t, p, r, syscall.SIGKILL)
	}},
	{name: "SIGTERM of any process of ours", do: func(t *testing.T, p *program, r *rand.Rand, _ string) []string {
		return anyProcess(t, p, r, syscall.SIGTERM)
	}},
	{name: "SIGSTOP of any process of ours", spares: true, do: func(t *testing.T, p *program, r *rand.Rand, _ string) []string {
		return stopAProcess(t, p, r)
	}},
	{name: "SIGKILL of all of ours on a host", do: func(t *testing.T, p *program, r *rand.Rand, _ string) []string {
		host := []string{"login", "node1", "node2"}[r.IntN(3)]
		for _, q := range p.processes(t) {
			if q.host == host {
				t.Logf("  killed: %v", q)
				hit(t, q, syscall.SIGKILL)
			}
		}
		return nil
	}},
}

// anyNode is one of the two that runs are on over ssh, and often with Slurm.
func anyNode(r *rand.Rand) string { return fmt.Sprintf("node%d", 1+r.IntN(2)) }

func nodeFault(what string) func(*testing.T, *program, *rand.Rand, string) []string {
	return func(t *testing.T, p *program, r *rand.Rand, _ string) []string {
		node := anyNode(r)
		p.do(t, what, node)
		return []string{node}
	}
}

func anyProcess(t *testing.T, p *program, r *rand.Rand, sig syscall.Signal) []string {
	all := p.processes(t)
	if len(all) == 0 {
		return nil
	}
	q := all[r.IntN(len(all))]
	t.Logf("  %v to %v", sig, q)
	hit(t, q, sig)
	return nil
}

func hit(t *testing.T, q process, sig syscall.Signal) {
	if err := syscall.Kill(q.pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Error(err)
	}
}

// stopAProcess stops one for some seconds: less or more than a host may be silent. For how long a rank alone may be stopped
// is the watchdog's business, which waits for minutes.
func stopAProcess(t *testing.T, p *program, r *rand.Rand) []string {
	all := p.processes(t)
	if len(all) == 0 {
		return nil
	}
	q := all[r.IntN(len(all))]
	t.Logf("  stopped and continued: %v", q)
	hit(t, q, syscall.SIGSTOP)
	time.Sleep(time.Duration(1+r.IntN(2*silence)) * time.Second)
	hit(t, q, syscall.SIGCONT)
	return nil
}
