package cpu

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"boost-tui/kernels"
)

// slow is a link over which 64 KiB between two ranks take 66 ms and a message of one element 2 ms.
var slow = kernels.Link{BytesPerSecond: 1 << 20, Latency: time.Millisecond}

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
			if c.Rank() == 1 {
				time.Sleep(30 * time.Millisecond) // who comes first waits, and then the link takes its time
			}
			want := slow.Time(m)
			got, err := r.under(s, m)
			if err != nil {
				return err
			}
			if got < want || got > want+want/4+20*time.Millisecond {
				return fmt.Errorf("%s took %v, want %v", m.Name(), got, want)
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
		v := r.symmetric(1 << 14)
		start := time.Now()
		p := x.StartReduce("under", c, v)
		for time.Since(start) < 60*time.Millisecond { // compute, on as many threads as there are cores
			x.Do("work", &kernels.Fill{X: r.matrix(64, 64, 0)})
		}
		before := time.Now()
		p.Wait()
		if exposed := time.Since(before); exposed > 40*time.Millisecond {
			return fmt.Errorf("%v of %v were exposed", exposed, time.Since(start))
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
