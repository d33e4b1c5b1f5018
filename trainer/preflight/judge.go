package preflight

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"boost-tui/experiment"
	"boost-tui/runner/protocol"
)

// What still counts as sound.
const (
	// maxSkew is how far clocks may be apart: beyond, times in records and of files mislead whoever compares them.
	maxSkew = 1.0 // seconds
	// slowBelow is the share of what is expected, or of what other nodes do, below which something is slow. Others may
	// use the machine for a moment: less than half is no moment.
	slowBelow = 0.5
	// slowRank is the share of what the ranks of a node do on average below which one of them is slow.
	slowRank = 0.3
	// maxTrip is how long a file may take to be seen and answered: agents look at such files several times a second.
	maxTrip  = 2.0 // seconds
	maxWrite = 1.0 // seconds
	// leastBus is a rate between nodes, in bytes per second, below which none is of use, whatever is known: that of 100 Mbit/s Ethernet.
	leastBus = 10e6
	hot      = 90 // °C
)

// Names of checks, in the order in which they are told.
const (
	checkClock    = "clock"
	checkProgram  = "program"
	checkMemory   = "memory"
	checkGPUs     = "gpus"
	checkFiles    = "files"
	checkProducts = "products"
	checkWithin   = "within nodes"
	checkBetween  = "between nodes"
	checkAll      = "all ranks"
	checkVerify   = "verify"
)

// judge collects verdicts.
type judge struct {
	r    *protocol.Preflight
	spec protocol.PreflightSpec
}

// Judge says what it thinks of what was found, and what may be counted on. What is sound on all nodes has one line,
// what is not has one for each.
func Judge(r *protocol.Preflight, spec protocol.PreflightSpec) {
	j := &judge{r, spec}
	j.sum()
	for _, check := range []func(){j.clock, j.program, j.memory, j.gpus, j.files, j.products, j.within, j.between, j.all, j.verify} {
		check()
	}
	r.Verdict = protocol.Worst(r.Checks)
}

// sum is what may be counted on: the least of everything.
func (j *judge) sum() {
	r := j.r
	for i, n := range r.Nodes {
		if i == 0 {
			r.Rates.RanksPerNode, r.Memory.TotalBytes, r.Memory.Cores = n.Ranks, n.MemTotal, n.Cores
		}
		if n.Ranks != r.Rates.RanksPerNode {
			r.Rates.RanksPerNode = 0 // they differ: nothing to compare with
		}
		r.Memory.TotalBytes, r.Memory.Cores = min(r.Memory.TotalBytes, n.MemTotal), min(r.Memory.Cores, n.Cores)
		if i == 0 || len(n.GPUs) < r.Memory.GPUs {
			r.Memory.GPUs = len(n.GPUs)
		}
		r.Memory.GPUBytes = least(r.Memory.GPUBytes, gpuBytes(&n))
		if n.GEMM > 0 && (r.Rates.GEMM == 0 || n.GEMM < r.Rates.GEMM) {
			r.Rates.GEMM = n.GEMM
		}
		r.Rates.Within = slowest(r.Rates.Within, n.Within)
		r.GPUs = r.GPUs || len(n.GPUs) > 0
	}
	for _, p := range r.Paths {
		r.Rates.Between = slowest(r.Rates.Between, p.Links)
	}
}

// slowest merges two lists by size.
func slowest(a, b []protocol.Link) []protocol.Link {
	for _, l := range b {
		at := slices.IndexFunc(a, func(x protocol.Link) bool { return x.Bytes == l.Bytes })
		if at < 0 {
			a = append(a, l)
		} else if l.Seconds > a[at].Seconds {
			a[at] = l
		}
	}
	return a
}

// line is one verdict; node is empty where it is of all.
func (j *judge) line(what, node, verdict, found, advice string) {
	if rates := []string{checkProducts, checkWithin, checkBetween, checkAll}; j.spec.Emulated && slices.Contains(rates, what) && !strings.HasSuffix(found, "(N/A)") {
		found += " (" + experiment.EmulatedDevice + ")"
	}
	j.r.Checks = append(j.r.Checks, protocol.Check{What: what, Node: node, Verdict: verdict, Found: found, Advice: advice})
}

// each asks about every node. Those that are sound share one line, which found words for all of them together.
func (j *judge) each(what string, ask func(n *protocol.Node) (verdict, found, advice string), sound string) {
	bad := 0
	for i := range j.r.Nodes {
		n := &j.r.Nodes[i]
		if v, found, advice := ask(n); v != protocol.VerdictOK {
			bad++
			j.line(what, n.Name, v, found, advice)
		}
	}
	if good := len(j.r.Nodes) - bad; good > 0 {
		if bad > 0 {
			sound = others(good, "node")
		}
		j.line(what, "", protocol.VerdictOK, sound, "")
	}
}

// trouble is what kept a stage from being looked at on a node; empty: nothing.
func trouble(n *protocol.Node, stage string) string {
	for _, t := range n.Trouble {
		if t.What == stage {
			return t.Text
		}
	}
	return ""
}

const logsAdvice = "the rank's log says more: boost-tui logs RUN"

func (j *judge) clock() {
	worst, err := 0.0, 0.0
	for _, n := range j.r.Nodes {
		worst, err = max(worst, math.Abs(n.ClockOffset)), max(err, n.ClockError)
	}
	sound := "one node: nothing to compare"
	if len(j.r.Nodes) > 1 {
		sound = fmt.Sprintf("at most %s from the first node's (± %s)", duration(worst), duration(err))
	}
	j.each(checkClock, func(n *protocol.Node) (string, string, string) {
		const advice = "let chrony or ntpd set it (timedatectl says whether one does): times in records and of files mislead as it is"
		switch {
		case trouble(n, "clock") != "":
			return protocol.VerdictFailed, trouble(n, "clock"), logsAdvice
		case math.Abs(n.ClockOffset)-n.ClockError > maxSkew:
			way := "ahead of"
			if n.ClockOffset < 0 {
				way = "behind"
			}
			return protocol.VerdictFailed, fmt.Sprintf("%s %s the first node's (± %s)", duration(math.Abs(n.ClockOffset)), way, duration(n.ClockError)), advice
		case n.ClockError > maxSkew:
			return protocol.VerdictSlow, fmt.Sprintf("the first node answers after %s: the clocks cannot be compared", duration(n.RoundTrip)), "look at the network between the two"
		}
		return protocol.VerdictOK, "", ""
	}, sound)
}

func (j *judge) program() {
	first := j.r.Nodes[0]
	blas := slices.ContainsFunc(j.r.Nodes, func(n protocol.Node) bool { return n.BLAS != first.BLAS })
	sound := first.Version + "; products by " + library(first.BLAS)
	j.each(checkProgram, func(n *protocol.Node) (string, string, string) {
		switch {
		case trouble(n, "device") != "":
			return protocol.VerdictFailed, trouble(n, "device"), "boost-tui doctor on that node says what is missing"
		case trouble(n, "host") != "" && n.Binary == "":
			return protocol.VerdictFailed, trouble(n, "host"), logsAdvice
		case n.Version != first.Version || n.Binary != first.Binary:
			return protocol.VerdictFailed, fmt.Sprintf("runs %s, the first node %s", n.Version, first.Version), "install one and the same binary on all nodes"
		case blas && n.BLAS != first.BLAS:
			return protocol.VerdictSlow, fmt.Sprintf("computes products by %s, the first node by %s", library(n.BLAS), library(first.BLAS)),
				"install the same library on all nodes, or name it by $BOOST_BLAS: numbers differ in their last digits, and all wait for the slowest"
		}
		return protocol.VerdictOK, "", ""
	}, sound)
}

func library(name string) string {
	if name == "" {
		return "an unknown library"
	}
	return name
}

func (j *judge) memory() {
	sound := "unknown"
	if m := j.r.Memory.TotalBytes; m > 0 {
		sound = fmt.Sprintf("%s on the node that has least", experiment.FormatBytes(m))
		if j.spec.NeedBytes > 0 {
			sound += fmt.Sprintf(", %s needed for a rank", experiment.FormatBytes(j.spec.NeedBytes))
		}
	}
	j.each(checkMemory, func(n *protocol.Node) (string, string, string) {
		need := j.spec.NeedBytes * int64(n.Ranks)
		switch {
		case n.MemTotal > 0 && need > n.MemTotal:
			return protocol.VerdictFailed, fmt.Sprintf("its %d ranks need %s and it has %s", n.Ranks, experiment.FormatBytes(need), experiment.FormatBytes(n.MemTotal)),
				"take more nodes, or a smaller micro-batch, seq or size"
		case n.MemAvailable > 0 && need > n.MemAvailable:
			return protocol.VerdictSlow, fmt.Sprintf("its %d ranks need %s and only %s of it are free now", n.Ranks, experiment.FormatBytes(need), experiment.FormatBytes(n.MemAvailable)),
				"end other work there first, or the kernel may kill a rank"
		}
		return protocol.VerdictOK, "", ""
	}, sound)
}

func (j *judge) files() {
	trip, write := 0.0, 0.0
	for _, n := range j.r.Nodes {
		trip, write = max(trip, n.FileTrip), max(write, n.FileWrite)
	}
	sound := fmt.Sprintf("a file is on the disk after %s", duration(write))
	if len(j.r.Nodes) > 1 {
		sound += fmt.Sprintf(", seen by another node and answered after %s", duration(trip))
	}
	j.each(checkFiles, func(n *protocol.Node) (string, string, string) {
		first := n == &j.r.Nodes[0]
		t := trouble(n, "files")
		switch {
		case !first && n.FileTrip == 0 && j.spec.Apart:
			return protocol.VerdictOK, "", ""
		case !first && n.FileTrip == 0:
			found := "does not see what the first node writes into the folder of the run"
			if t != "" {
				found = t
			}
			return protocol.VerdictFailed, found, "keep the runs on a file system that all nodes share: --runs, or $BOOST_RUNS"
		case t != "":
			return protocol.VerdictFailed, t, "look at the file system that holds the runs"
		case n.FileTrip > maxTrip:
			return protocol.VerdictSlow, fmt.Sprintf("a file of the first node is seen and answered after %s", duration(n.FileTrip)), "the file system's caching of attributes (actimeo) may be long; another one may suit better: --runs"
		case n.FileWrite > maxWrite:
			return protocol.VerdictSlow, fmt.Sprintf("a small file takes %s until it is on the disk", duration(n.FileWrite)), "the file system is busy or slow; another one may suit better: --runs"
		}
		return protocol.VerdictOK, "", ""
	}, sound)
}

func (j *judge) verify() {
	var names []string
	for _, c := range j.r.Nodes[0].Cases {
		names = append(names, c.Name)
	}
	j.each(checkVerify, func(n *protocol.Node) (string, string, string) {
		if t := trouble(n, "cases"); t != "" {
			return protocol.VerdictFailed, t, logsAdvice
		}
		for _, c := range n.Cases {
			if !c.OK {
				return protocol.VerdictFailed, fmt.Sprintf("%s: %s", c.Name, c.Text),
					"the node computes wrong numbers: leave it out, try another library of products ($BOOST_BLAS), have its memory tested"
			}
		}
		if len(n.Cases) == 0 {
			return protocol.VerdictFailed, "no case was computed", logsAdvice
		}
		return protocol.VerdictOK, "", ""
	}, strings.Join(names, ", ")+" agree with the reference")
}
