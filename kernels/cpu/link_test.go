package cpu

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"boost-tui/kernels"
)

// slow is a link over which 64 KiB between two ranks take 18 ms and a message of one element 2 ms.
var slow = kernels.Link{BytesPerSecond: 4 << 20, Latency: time.Millisecond}

// tries is how often a time is measured: what else runs on the machine only ever adds, and all ranks try as often.
const tries = 8

// under runs a message on a stream of its own and says how long its stream was busy with it after all had come.
func (r *rig) under(s kernels.Stream, op kernels.Op) (transfer time.Duration, err error) {
	e0, _ := r.NewEvent()
	e1, _ := r.NewEvent()
	if err := errors.Join(r.Record(e0, s), r.Do(kernels.Call{Stream: s}, op), r.Record(e1, s)); err != nil {
		return 0, err
	}
	t0, err0 := r.EventTime(e0)
	t1, err1 := r.EventTime(e1)
	return time.Duration(t1.AtNanos - t0.AtNanos - t1.WaitNanos), errors.Join(err0, err1)
}

// A message takes as long as a ring over the link would, from the moment when all ranks have come, and not much longer.
func TestLink(t *testing.T) {
	for rank, err := range linked(t, 2, slow, func(r *rig, c kernels.Comm) error {
		s, err := r.NewStream("tp")
		if err != nil {
			return err
		}
		v, w := r.symmetric(1<<14), r.symmetric(1<<15)
		there := kernels.Message(&kernels.Send{Comm: c, Peer: 1, Views: []kernels.View{v, v}})
		if c.Rank() == 1 {
			there = &kernels.Recv{Comm: c, Peer: 0, Views: []kernels.View{w.ColRange(0, 1<<14), w.ColRange(1<<14, 1<<15)}}
		}
		for _, m := range []kernels.Message{
			&kernels.Collective{Comm: c, Parts: []kernels.Part{{Send: v}}},
			&kernels.Collective{Comm: c, Parts: []kernels.Part{{Send: v}, {Send: w}}},
			&kernels.Collective{Comm: c, Parts: []kernels.Part{{Kind: kernels.AllGather, Send: v, Recv: w}}},
			&kernels.Collective{Comm: c, Parts: []kernels.Part{{Send: v.ColRange(0, 1)}}},
			there,
		} {
			want, best := slow.Time(m), time.Hour
			for range tries {
				if c.Rank() == 1 {
					time.Sleep(5 * time.Millisecond) // who comes first waits, and then the link takes its time
				}
				got, err := r.under(s, m)
				if err != nil {
					return err
				}
				if best = min(best, got); got < want {
					return fmt.Errorf("%s took %v, want %v", m.Name(), got, want)
				}
			}
			if best > want+want/10+2*time.Millisecond {
				return fmt.Errorf("%s took %v at best, want %v", m.Name(), best, want)
			}
		}
		return nil
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

// Sleeping hides behind compute: a link that takes as long as the compute beside it costs next to nothing more.
func TestLinkOverlapsCompute(t *testing.T) {
	for rank, err := range linked(t, 2, slow, func(r *rig, c kernels.Comm) error {
		x, err := issuer(r)
		if err != nil {
			return err
		}
		v, work := r.symmetric(1<<14), r.matrix(64, 64, 0)
		best := time.Hour
		for range tries {
			start := time.Now()
			p := x.StartReduce("under", c, v)
			for time.Since(start) < 20*time.Millisecond {
				x.Do("work", &kernels.Fill{X: work})
			}
			before := time.Now()
			p.Wait()
			best = min(best, time.Since(before))
		}
		if want := slow.Time(&kernels.Collective{Comm: c, Parts: []kernels.Part{{Send: v}}}); best > want/4 {
			return fmt.Errorf("%v of %v were exposed at best", best, want)
		}
		return x.Err()
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

// An abort ends a message in the middle of its sleep.
func TestAbortEndsSleep(t *testing.T) {
	never := kernels.Link{Latency: time.Hour}
	errs := linked(t, 2, never, func(r *rig, c kernels.Comm) error {
		s, _ := r.NewStream("tp")
		if err := r.Do(kernels.Call{Stream: s}, &kernels.Collective{Comm: c, Parts: []kernels.Part{{Send: r.symmetric(64)}}}); err != nil {
			return err
		}
		start := time.Now()
		time.Sleep(30 * time.Millisecond)
		if c.Rank() == 1 {
			return errors.Join(c.Abort(), r.Close())
		}
		err := r.Sync(context.Background(), s)
		if took := time.Since(start); took > 2*time.Second {
			return fmt.Errorf("after %v: %v", took, err)
		}
		return err
	})
	if !errors.Is(errs[0], kernels.ErrAborted) || errs[1] != nil {
		t.Error(errs)
	}
}
