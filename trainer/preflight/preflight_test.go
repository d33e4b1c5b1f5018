package preflight

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"boost-tui/kernels"
	"boost-tui/kernels/cpu"
	"boost-tui/kernels/wire"
	"boost-tui/profiler/sample"
	"boost-tui/runner/protocol"
	"boost-tui/trainer/rendezvous"
)

const secret = "0123456789abcdef0123456789abcdef"

// cluster is some hosts, played by this process: each has an address, memory and a folder of its own where it is said so.
type cluster struct {
	t      *testing.T
	ranks  []int // of each host
	limit  time.Duration
	dir    string
	spec   protocol.PreflightSpec
	open   func(host int, o *cpu.Options) error // changes a device, or keeps it from opening
	folder func(host int) string                // of the run, as a host sees it
	meet   func(host int, m Meeting) Meeting    // changes what a host hears
	cards  func(host int) func() (sample.GPUs, error)
}

func newCluster(t *testing.T, ranks ...int) *cluster {
	return &cluster{t: t, ranks: ranks, dir: t.TempDir()}
}

// run looks at the cluster and gives what was found, and the first rank's error.
func (c *cluster) run() (protocol.Preflight, error) {
	c.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	world := 0
	for _, n := range c.ranks {
		world += n
	}
	server, err := rendezvous.Serve(ln, rendezvous.Options{Secret: secret, World: world, Version: "v1"})
	if err != nil {
		c.t.Fatal(err)
	}
	defer server.Close()
	errs := make([]error, world)
	var wg sync.WaitGroup
	rank := 0
	for h, n := range c.ranks {
		segment, err := cpu.NewSegment()
		if err != nil {
			c.t.Fatal(err)
		}
		defer segment.Close()
		for local := range n {
			r := rank
			rank++
			wg.Go(func() { errs[r] = c.rank(server.Addr(), h, local, r, world, segment) })
		}
	}
	wg.Wait()
	for r, err := range errs[1:] {
		if (err == nil) != (errs[0] == nil) {
			c.t.Errorf("rank %d: %v; rank 0: %v", r+1, err, errs[0])
		}
	}
	p, err := protocol.ReadPreflight(c.dir)
	if err != nil {
		c.t.Fatalf("%v; the ranks: %v", err, errs)
	}
	return p, errs[0]
}

func (c *cluster) rank(addr string, h, local, rank, world int, segment *os.File) error {
	client, err := rendezvous.Dial(c.t.Context(), addr, rendezvous.Options{Secret: secret, World: world, Rank: rank, Version: "v1"})
	if err != nil {
		return err
	}
	defer client.Close()
	address := fmt.Sprintf("127.0.0.%d", h+1)
	spec := protocol.RankSpec{RunDir: c.dir, Rank: rank, World: world, LocalRank: local, LocalWorld: c.ranks[h], Threads: 1,
		Address: address, HostName: fmt.Sprintf("node%d", h+1), Version: "boost-tui test", Preflight: &c.spec}
	if c.folder != nil {
		spec.RunDir = c.folder(h)
	}
	e := Env{Spec: spec, Meet: client, Log: c.t.Logf, Limit: c.limit}
	if c.meet != nil {
		e.Meet = c.meet(h, client)
	}
	if c.cards != nil {
		e.Cards = c.cards(h)
	}
	e.Open = func(s protocol.RankSpec) (kernels.Device, error) {
		o := cpu.Options{World: s.LocalWorld, Rank: s.LocalRank, Threads: 1, Segment: segment}
		if len(c.ranks) > 1 {
			o.Network = &wire.Options{Secret: secret, Address: address, Version: "v1", Silence: 4 * time.Second}
		}
		if c.open != nil {
			if err := c.open(h, &o); err != nil {
				return nil, err
			}
		}
		d, err := cpu.Open(o)
		if err != nil {
			return nil, err
		}
		return d, nil
	}
	e.Identify = func(ctx context.Context, dev kernels.Device, name string, members []int) (id kernels.UID, err error) {
		if rank == members[0] {
			if id, err = dev.UID(); err != nil {
				return id, err
			}
			return id, client.Set(ctx, "uid/"+name, id[:])
		}
		b, err := client.Wait(ctx, "uid/"+name, members[0])
		copy(id[:], b)
		return id, err
	}
	return Run(c.t.Context(), e)
}

// verdicts lists the lines that are not ok.
func verdicts(p protocol.Preflight) (out []string) {
	for _, c := range p.Checks {
		if c.Verdict != protocol.VerdictOK {
			out = append(out, fmt.Sprintf("%s %s %s: %s", c.Verdict, c.What, c.Node, c.Found))
		}
	}
	return out
}

// bad runs and expects lines that begin so. Without any, nothing may have failed: how fast this machine is while other
// tests use it says nothing.
func (c *cluster) bad(want ...string) protocol.Preflight {
	c.t.Helper()
	p, err := c.run()
	if err != nil {
		c.t.Fatal(err)
	}
	got := verdicts(p)
	for _, w := range want {
		found := false
		for _, g := range got {
			found = found || strings.HasPrefix(g, w)
		}
		if !found {
			c.t.Errorf("no line %q in:\n%s", w, strings.Join(got, "\n"))
		}
	}
	if len(want) == 0 && p.Verdict == protocol.VerdictFailed || len(want) > 0 && p.Verdict == protocol.VerdictOK {
		c.t.Errorf("verdict %s:\n%s", p.Verdict, strings.Join(got, "\n"))
	}
	return p
}

func TestSoundHosts(t *testing.T) {
	p := newCluster(t, 2, 2).bad()
	if len(p.Nodes) != 2 || len(p.Paths) != 1 || len(p.All) == 0 || p.Rates.RanksPerNode != 2 {
		t.Fatalf("%+v", p)
	}
	for _, n := range p.Nodes {
		if n.Ranks != 2 || n.GEMM <= 0 || len(n.Within) != len(sizes) || n.FileWrite <= 0 || len(n.Cases) != len(checked) || n.MemTotal <= 0 || n.Version == "" || n.Binary == "" {
			t.Errorf("%+v", n)
		}
	}
	if p.Nodes[1].FileTrip <= 0 || p.Nodes[1].RoundTrip <= 0 {
		t.Errorf("%+v", p.Nodes[1])
	}
}

func TestOneRank(t *testing.T) {
	p := newCluster(t, 1).bad()
	if len(p.Nodes) != 1 || len(p.Paths) != 0 || p.Rates.GEMM <= 0 {
		t.Errorf("%+v", p)
	}
}

// A host that does not see the folder of the run is named, and the files that were written for it go.
func TestFolderThatIsNotShared(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for what does not come: left out by -short")
	}
	c := newCluster(t, 1, 1, 1)
	c.limit = 30 * time.Second
	apart := t.TempDir()
	c.folder = func(host int) string {
		if host == 2 {
			return apart
		}
		return c.dir
	}
	c.bad("failed files node3: node3 does not see")
	left, err := os.ReadDir(c.dir)
	if err != nil || len(left) != 1 { // preflight.json
		t.Errorf("%v, %v", left, err)
	}
	c.spec.Apart = true
	c.bad()
}

func TestDeviceThatDoesNotOpen(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for what does not come: left out by -short")
	}
	c := newCluster(t, 1, 1)
	c.limit = 15 * time.Second
	c.open = func(host int, _ *cpu.Options) error {
		if host == 1 {
			return errors.New("no such library")
		}
		return nil
	}
	c.bad("failed program node2: no such library", "failed between nodes node1 - node2")
}

// The two ends of a slow path have one name in common.
func TestSlowPathIsNamed(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for what does not come: left out by -short")
	}
	c := newCluster(t, 1, 1, 1, 1)
	c.open = func(host int, o *cpu.Options) error {
		if host == 2 {
			o.Link = kernels.Link{BytesPerSecond: 2e6}
		}
		return nil
	}
	p := c.bad("slow between nodes node2 - node3", "slow between nodes node3 - node4")
	if len(p.Paths) != 4 {
		t.Errorf("%d paths", len(p.Paths))
	}
}

// skewed hears a first host whose clock is behind.
type skewed struct {
	Meeting
	behind time.Duration
}

func (s skewed) Offset(ctx context.Context, trips int) (rendezvous.Offset, error) {
	o, err := s.Meeting.Offset(ctx, trips)
	o.Ahead -= s.behind
	return o, err
}

func TestClocksApart(t *testing.T) {
	c := newCluster(t, 1, 1)
	c.meet = func(host int, m Meeting) Meeting { return skewed{m, 5 * time.Minute} }
	p := c.bad("failed clock node2: 5 min 00 s ahead of")
	if p.Nodes[1].ClockOffset < 299.9 || p.Nodes[1].ClockOffset > 300.1 {
		t.Errorf("offset %v s", p.Nodes[1].ClockOffset)
	}
}

func TestCardsAreSeen(t *testing.T) {
	c := newCluster(t, 1, 1)
	c.cards = func(host int) func() (sample.GPUs, error) {
		return func() (sample.GPUs, error) { return sample.NewSimulator(4-host, time.Now), nil }
	}
	p := c.bad("failed gpus node2: has 3 GPUs, others have 4")
	if len(p.Nodes[0].GPUs) != 4 || p.Nodes[0].GPUs[0].SMMHz <= 0 {
		t.Errorf("%+v", p.Nodes[0].GPUs)
	}
	c.cards = func(int) func() (sample.GPUs, error) {
		return func() (sample.GPUs, error) { return nil, errors.New("driver and library do not fit") }
	}
	c.bad("failed gpus node1: driver and library")
}

// lost is a host that never gets to a stage.
type lost struct {
	Meeting
	stage string
}

func (l lost) Barrier(ctx context.Context, name string) error {
	if name == l.stage {
		return errors.New("cut off")
	}
	return l.Meeting.Barrier(ctx, name)
}

// When a rank is lost underway the first one still says what it knows, and the run fails.
func TestLostOnTheWay(t *testing.T) {
	c := newCluster(t, 1, 1)
	c.limit = 8 * time.Second
	c.meet = func(host int, m Meeting) Meeting {
		if host == 1 {
			return lost{m, "preflight/device"}
		}
		return m
	}
	p, err := c.run()
	if err == nil || !strings.Contains(err.Error(), "rank 1") || p.Verdict != protocol.VerdictFailed {
		t.Errorf("%v, %+v", err, p.Checks)
	}
}

// The rounds go over every path of the ring once, and no host stands in two of a round.
func TestRounds(t *testing.T) {
	for n := range 40 {
		paths := map[[2]int]bool{}
		for _, round := range rounds(n) {
			busy := map[int]bool{}
			for _, x := range round {
				if busy[x[0]] || busy[x[1]] || paths[x] || (x[0]+1)%n != x[1] {
					t.Fatalf("%d hosts: %v", n, rounds(n))
				}
				busy[x[0]], busy[x[1]], paths[x] = true, true, true
			}
		}
		want := n
		if n < 3 {
			want = max(0, n-1)
		}
		if len(paths) != want {
			t.Fatalf("%d hosts: %d paths", n, len(paths))
		}
	}
}
