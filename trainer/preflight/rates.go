package preflight

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"boost-tui/experiment"
	"boost-tui/runner/protocol"
)

// usual is what to compare nodes with among themselves: the median, of two the better one.
func usual(list []float64) float64 {
	list = slices.DeleteFunc(slices.Clone(list), func(v float64) bool { return v <= 0 })
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// rate judges a rate, the more the better, against what the machine is known to do, or else against its like.
func (j *judge) rate(v, known, like float64, unit func(float64) string, advice string) (verdict, found, what string) {
	switch {
	case v <= 0:
		return protocol.VerdictFailed, "was not measured", logsAdvice
	case known > 0 && v < slowBelow*known:
		return protocol.VerdictSlow, fmt.Sprintf("%s, %.0f %% of the %s that %s says", unit(v), 100*v/known, unit(known), j.spec.From), advice
	case like > 0 && v < slowBelow*like:
		return protocol.VerdictSlow, fmt.Sprintf("%s, %.0f %% of the usual %s here", unit(v), 100*v/like, unit(like)), advice
	}
	return protocol.VerdictOK, "", ""
}

// expected is what the machine is known to do with so many ranks on a node; nil: nothing comparable.
func (j *judge) expected() *protocol.Rates {
	if x := j.spec.Expected; x != nil && x.RanksPerNode == j.r.Rates.RanksPerNode && x.RanksPerNode > 0 {
		return x
	}
	return nil
}

// against is the end of a line about what was measured: what it was held against.
func (j *judge) against(known bool) string {
	if known {
		return ", as " + j.spec.From + " says"
	}
	return "; nothing is known to compare with"
}

func (j *judge) products() {
	var all []float64
	for _, n := range j.r.Nodes {
		all = append(all, n.GEMM)
	}
	known := 0.0
	dtype, other := cmp.Or(j.r.Rates.GEMMDType, experiment.FP32), ""
	if x := j.expected(); x != nil {
		if of := cmp.Or(x.GEMMDType, experiment.FP32); of == dtype {
			known = x.GEMM
		} else if x.GEMM > 0 {
			other = fmt.Sprintf("; %s knows %s alone (preflight --save describes it anew)", j.spec.From, of)
		}
	}
	like := usual(all)
	sound := fmt.Sprintf("%s a node in %s%s", flops(j.r.Rates.GEMM), dtype, cmp.Or(other, j.against(known > 0)))
	j.each(checkProducts, func(n *protocol.Node) (string, string, string) {
		if t := trouble(n, "products"); t != "" {
			return protocol.VerdictFailed, t, logsAdvice
		}
		if n.Ranks > 1 && n.GEMMSlowest > 0 && n.GEMMSlowest < slowRank*n.GEMM/float64(n.Ranks) {
			return protocol.VerdictSlow, fmt.Sprintf("one of its %d ranks does %s, on average they do %s", n.Ranks, flops(n.GEMMSlowest), flops(n.GEMM/float64(n.Ranks))),
				"others may use a core of it: end other work there, or leave the node out"
		}
		return j.rate(n.GEMM, known, like, flops, "others may use it (top shows them), or its clocks are held down: end other work there, or leave the node out")
	}, sound)
}

// largest is the link of the largest size of those that both lists have; of one list alone, its largest.
func largest(links []protocol.Link, known []protocol.Link) (l protocol.Link, k protocol.Link) {
	for _, x := range links {
		at := slices.IndexFunc(known, func(y protocol.Link) bool { return y.Bytes == x.Bytes && y.Ranks == x.Ranks })
		if len(known) > 0 && at < 0 {
			continue
		}
		if x.Bytes >= l.Bytes {
			l = x
			if at >= 0 {
				k = known[at]
			}
		}
	}
	if l.Ranks == 0 && len(links) > 0 {
		return largest(links, nil)
	}
	return l, k
}

// described is how fast messages of the sizes are.
func described(links []protocol.Link) string {
	s := ""
	for i, l := range links {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%s in %s (%s)", experiment.FormatBytes(l.Bytes), duration(l.Seconds), bandwidth(l.Bus()))
	}
	return s
}

func (j *judge) within() {
	var known []protocol.Link
	if x := j.expected(); x != nil {
		known = x.Within
	}
	if len(j.r.Rates.Within) == 0 && !slices.ContainsFunc(j.r.Nodes, func(n protocol.Node) bool { return n.Ranks > 1 }) {
		j.line(checkWithin, "", protocol.VerdictOK, "one rank a node: no messages within (N/A)", "")
		return
	}
	var all []float64
	for _, n := range j.r.Nodes {
		l, _ := largest(n.Within, known)
		all = append(all, l.Bus())
	}
	like := usual(all)
	j.each(checkWithin, func(n *protocol.Node) (string, string, string) {
		if n.Ranks == 1 {
			return protocol.VerdictOK, "", ""
		}
		if t := trouble(n, "within"); t != "" {
			return protocol.VerdictFailed, t, logsAdvice
		}
		l, k := largest(n.Within, known)
		return j.rate(l.Bus(), k.Bus(), like, bandwidth, "more ranks than free cores, or another tenant: end other work there")
	}, "all-reduce of "+described(j.r.Rates.Within)+j.against(len(known) > 0))
}

// slowPath is what to do about a slow network.
const slowPath = "the network between the two is slow: a cable, a switch, the wrong interface (--interface), or others who use it"

func (j *judge) between() {
	if len(j.r.Nodes) == 1 {
		j.line(checkBetween, "", protocol.VerdictOK, "one node: no messages between (N/A)", "")
		return
	}
	var known []protocol.Link
	if x := j.spec.Expected; x != nil { // one rank of each node takes part, however many there are
		known = x.Between
	}
	var all []float64
	for _, p := range j.r.Paths {
		l, _ := largest(p.Links, known)
		all = append(all, l.Bus())
	}
	like, bad := usual(all), 0
	for _, p := range j.r.Paths {
		name := j.r.Nodes[p.A].Name + " - " + j.r.Nodes[p.B].Name
		if p.Text != "" {
			bad++
			j.line(checkBetween, name, protocol.VerdictFailed, p.Text, "can the two reach each other by the addresses that ranks use? --interface names another; firewalls must let high ports through")
			continue
		}
		l, k := largest(p.Links, known)
		v, found, advice := j.rate(l.Bus(), k.Bus(), like, bandwidth, slowPath)
		if v == protocol.VerdictOK && l.Bus() < leastBus {
			v, found, advice = protocol.VerdictSlow, bandwidth(l.Bus())+", less than 100 Mbit/s Ethernet", slowPath
		}
		if v != protocol.VerdictOK {
			bad++
			j.line(checkBetween, name, v, fmt.Sprintf("all-reduce of %s: %s", experiment.FormatBytes(l.Bytes), found), advice)
		}
	}
	switch good := len(j.r.Paths) - bad; {
	case len(j.r.Paths) == 0:
		j.line(checkBetween, "", protocol.VerdictFailed, "was not measured", logsAdvice)
	case bad == 0:
		j.line(checkBetween, "", protocol.VerdictOK, "all-reduce of "+described(j.r.Rates.Between)+j.against(len(known) > 0), "")
	case good > 0:
		j.line(checkBetween, "", protocol.VerdictOK, others(good, "path"), "")
	}
}

func (j *judge) all() {
	if len(j.r.All) > 0 {
		j.line(checkAll, "", protocol.VerdictOK, "all-reduce of "+described(j.r.All), "")
		return
	}
	if t := trouble(&j.r.Nodes[0], "all"); t != "" {
		j.line(checkAll, "", protocol.VerdictFailed, t, logsAdvice)
	}
}

// si scales a number by powers of 1000.
func si(v float64, unit string) string {
	for _, p := range []struct {
		at   float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= p.at {
			return fmt.Sprintf("%.3g %s%s", v/p.at, p.name, unit)
		}
	}
	return fmt.Sprintf("%.3g %s", v, unit)
}

func flops(v float64) string     { return si(v, "FLOP/s") }
func bandwidth(v float64) string { return si(v, "B/s") }

// duration words seconds.
func duration(s float64) string {
	switch a := math.Abs(s); {
	case a >= 60:
		whole := math.Round(s)
		return fmt.Sprintf("%.0f min %02.0f s", math.Trunc(whole/60), math.Mod(whole, 60))
	case a >= 1:
		return fmt.Sprintf("%.3g s", s)
	case a >= 1e-3:
		return fmt.Sprintf("%.3g ms", s*1e3)
	default:
		return fmt.Sprintf("%.3g µs", s*1e6)
	}
}

// others is how many of a kind are sound beside those that are not.
func others(n int, kind string) string {
	if n == 1 {
		return "the other " + kind + " is sound"
	}
	return fmt.Sprintf("the other %d %ss are sound", n, kind)
}
