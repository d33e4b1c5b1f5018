// Package preflight is what the ranks of a run do that looks at its machines instead of training: clocks, programs,
// memory, the folder of the run, the rate of matrix products, messages within and between hosts, reference cases. It
// takes less than a minute. The first rank puts together what all have found and says what it thinks of it.
//
// Start reading at Run, then judge.go. What is found is described by runner/protocol.
package preflight

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"boost-tui/internal/wallclock"
	"boost-tui/kernels"
	"boost-tui/profiler/sample"
	"boost-tui/runner/protocol"
	"boost-tui/trainer/rendezvous"
)

// Meeting is what the ranks exchange words over: a *rendezvous.Client is one.
type Meeting interface {
	Set(ctx context.Context, key string, value []byte) error
	Wait(ctx context.Context, key string, owner int) ([]byte, error)
	Barrier(ctx context.Context, name string) error
	Offset(ctx context.Context, trips int) (rendezvous.Offset, error)
}

// Env is what a rank looks with.
type Env struct {
	Spec protocol.RankSpec
	Meet Meeting
	// Open opens the device that the rank would train on. Run closes it.
	Open func(protocol.RankSpec) (kernels.Device, error)
	// Identify gives the members of a communicator its identity.
	Identify func(ctx context.Context, dev kernels.Device, name string, members []int) (kernels.UID, error)
	Cards    func() (sample.GPUs, error) // of this host; nil without an error: it has none
	Log      func(format string, args ...any)
	// Limit is how long the looking may take in all, its parts in proportion; 0: Limit. All ranks say the same.
	Limit time.Duration
}

// Limit is how long the looking may take in all. With what comes before and after it stays below a minute.
const Limit = 38 * time.Second

// errLate is why a look that takes too long ends.
var errLate = errors.New("the preflight is not through in time")

// probe is one rank's look.
type probe struct {
	Env
	hosts []host // in the order of their first ranks
	own   int    // this rank's place among them
	dev   kernels.Device
	found found
}

// host is where some ranks are.
type host struct {
	First   int    `json:"first"`
	Ranks   int    `json:"ranks"`
	Name    string `json:"name"`
	Address string `json:"address,omitempty"`
}

// found is what one rank has found. Of what is true of a host its first rank speaks.
type found struct {
	Node protocol.Node   `json:"node"`
	CPUs []int           `json:"cpus,omitempty"` // that the rank may use
	GEMM float64         `json:"gemm"`
	GPU  int64           `json:"gpu_b,omitempty"` // bytes of the rank's GPU, as its device says
	Path []protocol.Path `json:"paths,omitempty"` // that this rank measured
	All  []protocol.Link `json:"all,omitempty"`
	// Answers are how long each host took to answer a file, as the first rank saw it; 0: it did not.
	Answers []float64 `json:"answers,omitempty"`
}

// stage is a part of the look that all ranks begin together.
type stage struct {
	name  string
	limit time.Duration
	do    func(*probe, context.Context) error
}

// The order matters: what needs a quiet machine comes before what makes it busy.
var stages = []stage{
	{"clock", 4 * time.Second, (*probe).clock},
	{"files", 8 * time.Second, (*probe).files},
	{"host", 4 * time.Second, (*probe).describe},
	{"device", 6 * time.Second, (*probe).open},
	{"products", 4 * time.Second, (*probe).products},
	{"within", 6 * time.Second, (*probe).within},
	{"between", 12 * time.Second, (*probe).between},
	{"all", 6 * time.Second, (*probe).together},
	{"cases", 12 * time.Second, (*probe).cases},
}

// Run looks at everything. What is slow or does not work is in preflight.json and no error of Run; that the ranks
// could not do it together is.
func Run(ctx context.Context, e Env) (err error) {
	began := time.Now()
	if e.Limit == 0 {
		e.Limit = Limit
	}
	ctx, cancel := context.WithTimeoutCause(ctx, e.Limit, errLate)
	defer cancel()
	p := &probe{Env: e}
	defer func() {
		if p.dev != nil {
			err = errors.Join(err, p.dev.Close())
		}
	}()
	report := protocol.Preflight{Started: wallclock.Now().UTC()}
	if err := p.look(ctx); err != nil {
		err = late(ctx, err)
		if e.Spec.Rank == 0 {
			report.Seconds = time.Since(began).Seconds()
			report.Nodes = []protocol.Node{p.found.Node}
			report.Checks = []protocol.Check{{What: "preflight", Verdict: protocol.VerdictFailed, Found: err.Error(),
				Advice: "see the log of the rank that is named: boost-tui logs RUN"}}
			err = errors.Join(err, protocol.WritePreflight(e.Spec.RunDir, report))
		}
		return err
	}
	if e.Spec.Rank == 0 {
		if err := p.gather(ctx, &report); err != nil {
			return late(ctx, err)
		}
		report.Seconds = time.Since(began).Seconds()
		report.Rates.GEMMDType = p.dtype().String()
		Judge(&report, *e.Spec.Preflight)
		if err := protocol.WritePreflight(e.Spec.RunDir, report); err != nil {
			return err
		}
	}
	return late(ctx, e.Meet.Barrier(ctx, "preflight/end"))
}

// late is the reason that the look was ended for, where it was.
func late(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errLate) && !errors.Is(err, errLate) {
		return fmt.Errorf("%w: %w", errLate, err)
	}
	return err
}

// look goes through the stages and hands over what this rank has found.
func (p *probe) look(ctx context.Context) error {
	if err := p.arrange(ctx); err != nil {
		return fmt.Errorf("find out who is where: %w", err)
	}
	p.found.Node = protocol.Node{Name: p.here().Name, Address: p.here().Address, Ranks: p.here().Ranks, First: p.here().First}
	for _, s := range stages {
		if err := p.Meet.Barrier(ctx, "preflight/"+s.name); err != nil {
			return fmt.Errorf("begin with %q together: %w", s.name, err)
		}
		if err := p.one(ctx, s); err != nil {
			p.Log("preflight, %s: %v", s.name, err)
			p.found.Node.Trouble = append(p.found.Node.Trouble, protocol.Note{What: s.name, Text: cut(err.Error())})
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	data, err := json.Marshal(p.found)
	if err != nil {
		return err
	}
	return p.Meet.Set(ctx, foundKey(p.Spec.Rank), data)
}

func (p *probe) one(ctx context.Context, s stage) error {
	limit := time.Duration(float64(s.limit) * float64(p.Limit) / float64(Limit))
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it was not done within %v", limit))
	defer cancel()
	return s.do(p, ctx)
}

// maxText bounds what is said of one trouble.
const maxText = 600

func cut(s string) string {
	if len(s) > maxText {
		return s[:maxText] + "…"
	}
	return s
}

func foundKey(rank int) string { return fmt.Sprintf("preflight/found/%d", rank) }

// layoutKey and hostKey are where the first rank, and the first of every host, say where ranks are.
const layoutKey = "preflight/layout"

func hostKey(first int) string { return fmt.Sprintf("preflight/host/%d", first) }

// leads reports whether this rank speaks for its host.
func (p *probe) leads() bool { return p.Spec.LocalRank == 0 }

func (p *probe) here() host { return p.hosts[p.own] }

// arrange lets every rank know which hosts there are.
func (p *probe) arrange(ctx context.Context) error {
	me := host{First: p.Spec.Rank - p.Spec.LocalRank, Ranks: p.Spec.LocalWorld, Name: p.Spec.HostName, Address: p.Spec.Address}
	if p.leads() {
		data, err := json.Marshal(me)
		if err != nil {
			return err
		}
		if err := p.Meet.Set(ctx, hostKey(me.First), data); err != nil {
			return err
		}
	}
	if p.Spec.Rank == 0 {
		if err := p.layOut(ctx); err != nil {
			return err
		}
	}
	data, err := p.Meet.Wait(ctx, layoutKey, 0)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &p.hosts); err != nil {
		return fmt.Errorf("what rank 0 says of the hosts: %w", err)
	}
	for i, h := range p.hosts {
		if p.Spec.Rank >= h.First && p.Spec.Rank < h.First+h.Ranks {
			p.own = i
			return nil
		}
	}
	return fmt.Errorf("rank %d is on none of the %d hosts", p.Spec.Rank, len(p.hosts))
}

// layOut asks the first rank of every host: where one ends the next begins.
func (p *probe) layOut(ctx context.Context) error {
	for first := 0; first < p.Spec.World; {
		data, err := p.Meet.Wait(ctx, hostKey(first), first)
		if err != nil {
			return err
		}
		var h host
		if err := json.Unmarshal(data, &h); err != nil || h.First != first || h.Ranks < 1 || h.Ranks > p.Spec.World-first {
			return fmt.Errorf("rank %d says that its host has ranks %d to %d of %d", first, h.First, h.First+h.Ranks-1, p.Spec.World)
		}
		p.hosts = append(p.hosts, h)
		first += h.Ranks
	}
	data, err := json.Marshal(p.hosts)
	if err != nil {
		return err
	}
	p.hosts = nil
	return p.Meet.Set(ctx, layoutKey, data)
}

// gather puts together what all ranks have found.
func (p *probe) gather(ctx context.Context, r *protocol.Preflight) error {
	var answers []float64
	for i, h := range p.hosts {
		given := map[int]bool{} // processors that the host's ranks have together
		for rank := h.First; rank < h.First+h.Ranks; rank++ {
			data, err := p.Meet.Wait(ctx, foundKey(rank), rank)
			if err != nil {
				return fmt.Errorf("hear what rank %d has found: %w", rank, err)
			}
			var f found
			if err := json.Unmarshal(data, &f); err != nil {
				return fmt.Errorf("what rank %d has found: %w", rank, err)
			}
			if rank == h.First {
				r.Nodes = append(r.Nodes, f.Node)
			} else {
				r.Nodes[i].Trouble = append(r.Nodes[i].Trouble, f.Node.Trouble...)
			}
			n := &r.Nodes[i]
			for _, cpu := range f.CPUs {
				given[cpu] = true
			}
			n.Cores = max(n.Cores, len(given)) // by itself a bound rank sees its own alone
			n.GEMM += f.GEMM
			n.GPUBytes = least(n.GPUBytes, f.GPU)
			if n.GEMMSlowest == 0 || f.GEMM < n.GEMMSlowest {
				n.GEMMSlowest = f.GEMM
			}
			r.Paths = append(r.Paths, f.Path...)
			r.All = append(r.All, f.All...)
			if rank == 0 {
				answers = f.Answers
			}
		}
	}
	for i := range min(len(answers), len(r.Nodes)) {
		r.Nodes[i].FileTrip = answers[i]
	}
	return nil
}
