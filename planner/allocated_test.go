package planner

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"boost-tui/kernels"
	"boost-tui/kernels/reference"
	"boost-tui/step"
)

// counted adds up what a device that computes is asked for.
type counted struct {
	kernels.Device
	bytes int64
}

func (c *counted) Alloc(name string, bytes int64, symmetric bool) (*kernels.Buffer, error) {
	c.bytes += bytes
	return c.Device.Alloc(name, bytes, symmetric)
}

// A plan in bf16 is, to the byte, what every rank allocates on a device that computes in it, and what a step communicates is what
// its ranks send.
func TestPlanIsWhatRanksAllocate(t *testing.T) {
	for _, words := range []string{"", "tp=2", "scheme=vanilla tp=2 grouping=off norm=sync", "variant=full tp=2 sp=on", "variant=lax lax-gate=dense scheme=vanilla tp=2", "dp=2", "dp=2 zero=1",
		"variant=loro tp=2", "variant=loro dp=2 zero=1", "variant=relora dp=2 zero=1", "variant=sltrain tp=2", "recompute=low-rank tp=2", "pp=2 accumulate=2"} {
		words = "dtype=bf16 d=32 layers=2 heads=2 ff=64 rank=8 seq=8 micro-batch=2 vocab=64 keep-last=0 " + words
		e, p := resolve(t, words), plan(t, words)
		world := &reference.World{}
		var ranks errgroup.Group
		var mu sync.Mutex
		most, total := int64(0), int64(0)
		for rank := range e.World() {
			ranks.Go(func() error {
				d := &counted{Device: reference.New(world, rank)}
				q := e.Parallel
				at := map[string]int{"tp": rank % q.TP, "dp": rank / q.TP % q.DP, "pp": rank / q.TP / q.DP}
				var g step.Groups
				for i, a := range []struct {
					name string
					n    int
					to   *kernels.Comm
				}{{"tp", q.TP, &g.TP}, {"dp", q.DP, &g.DP}, {"pp", q.PP, &g.PP}} {
					if a.n == 1 {
						continue
					}
					others := fmt.Sprint(i, rank-at[a.name]*[]int{1, q.TP, q.TP * q.DP}[i])
					var id kernels.UID
					copy(id[:], others)
					var err error
					if *a.to, err = d.Join(context.Background(), id, a.n, at[a.name], a.name); err != nil {
						return err
					}
				}
				if _, err := step.New(step.ConfigOf(e), d, g); err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				most, total = max(most, d.bytes), total+d.bytes
				return nil
			})
		}
		if err := ranks.Wait(); err != nil {
			t.Fatalf("%q: %v", words, err)
		}
		if most != p.Memory.Total || total != p.NeedBytes {
			t.Errorf("%q: ranks allocate up to %d bytes and %d together, planned %d and %d", words, most, total, p.Memory.Total, p.NeedBytes)
		}
	}
}
