package cpu

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"boost-tui/kernels"
)

func issuer(r *rig) (*kernels.Exec, error) {
	x, err := kernels.NewExec(r)
	if err == nil {
		x.Phase(kernels.Forward, 0)
		x.At(3, "stage")
	}
	return x, err
}

// Every rank sends to both neighbours of a ring at once and takes from both, several views at a time, again and again.
func TestTransfers(t *testing.T) {
	for _, n := range []int{2, 3, 4} {
		for _, count := range []int{1, 33, 70001} {
			t.Run(fmt.Sprintf("%d-ranks-%d", n, count), func(t *testing.T) {
				world(t, n, func(r *rig, c kernels.Comm) error { return neighbours(r, c, count) })
			})
		}
	}
}

func neighbours(r *rig, c kernels.Comm, count int) error {
	x, err := issuer(r)
	if err != nil {
		return err
	}
	me, n := c.Rank(), c.Size()
	right, left := (me+1)%n, (me+n-1)%n
	out, more := r.symmetric(count), r.symmetric(7)
	in, last := r.matrix(1, count, 0), r.matrix(1, 7, 0) // where one takes need not be shared
	back := r.matrix(1, count, 0)
	value := func(rank, round, i int) float64 { return float64((rank*37 + i*11 + round*101) % 1001) }
	for round := range 20 {
		r.fillBy(out, func(i int) float64 { return value(me, round, i) })
		r.fillBy(more, func(i int) float64 { return value(me, round, i+500) })
		a := x.StartRecv("act", c, left, in, last)
		b := x.StartSend("act", c, right, out, more)
		a.Wait()
		b.Wait()
		if n > 2 { // with two ranks both directions lead to the same peer, in order
			a, b = x.StartRecv("grad", c, right, back), x.StartSend("grad", c, left, out)
			a.Wait()
			b.Wait()
		}
		if x.Err() != nil {
			return x.Err()
		}
		err := errors.Join(r.expect("act", in, func(i int) float64 { return value(left, round, i) }),
			r.expect("more", last, func(i int) float64 { return value(left, round, i+500) }))
		if n > 2 {
			err = errors.Join(err, r.expect("grad", back, func(i int) float64 { return value(right, round, i) }))
		}
		if err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	return nil
}

// A receive may be issued long before its send, and a send goes on once it is taken, whatever else its stream's rank does.
func TestTransfersWaitOnTheirStreams(t *testing.T) {
	issued := make(chan struct{})
	world(t, 2, func(r *rig, c kernels.Comm) error {
		x, err := issuer(r)
		if err != nil {
			return err
		}
		v := r.symmetric(1000)
		peer := 1 - c.Rank()
		first, second := v.ColRange(0, 500), v.ColRange(500, 1000)
		r.fillBy(first, func(int) float64 { return float64(c.Rank() + 1) })
		in := x.StartRecv("in", c, peer, second)
		if c.Rank() == 1 {
			select { // rank 0 issues both before this one sends anything
			case <-issued:
			case <-time.After(30 * time.Second):
				return errors.New("rank 0 waits while it issues")
			}
		}
		out := x.StartSend("out", c, peer, first)
		if c.Rank() == 0 {
			close(issued)
		}
		in.Wait()
		out.Wait()
		return errors.Join(x.Err(), r.expect("in", second, func(int) float64 { return float64(peer + 1) }))
	})
}

func TestTransfersMustFit(t *testing.T) {
	errs := ranks(t, 2, func(r *rig, c kernels.Comm) error {
		x, err := issuer(r)
		if err != nil {
			return err
		}
		v := r.symmetric(64)
		if c.Rank() == 0 {
			x.StartSend("act", c, 1, v).Wait()
		} else {
			x.StartRecv("act", c, 0, v.ColRange(0, 63)).Wait()
		}
		return x.Err()
	})
	for rank, err := range errs {
		for _, part := range []string{"send of 64", "receive of 63", "forward.l3.stage/act"} {
			if !errors.Is(err, kernels.ErrComm) || !strings.Contains(err.Error(), part) {
				t.Errorf("rank %d: %v lacks %q", rank, err, part)
			}
		}
	}
	t.Log(errs[0])
}

func TestTransfersEndWithTheGroup(t *testing.T) {
	for what, leave := range map[string]func(c kernels.Comm) error{
		"aborted": func(c kernels.Comm) error { return c.Abort() },
		"left":    func(c kernels.Comm) error { return c.Close() },
	} {
		for _, send := range []bool{true, false} {
			errs := ranks(t, 2, func(r *rig, c kernels.Comm) error {
				x, err := issuer(r)
				if err != nil {
					return err
				}
				v := r.symmetric(64)
				switch {
				case c.Rank() == 1:
					time.Sleep(20 * time.Millisecond)
					return leave(c)
				case send:
					x.StartSend("act", c, 1, v).Wait()
				default:
					x.StartRecv("act", c, 1, v).Wait()
				}
				return x.Err()
			})
			if errs[0] == nil || !strings.Contains(errs[0].Error(), what) || errs[1] != nil {
				t.Errorf("%s, send %v: %v", what, send, errs)
			}
		}
	}
}

// Whoever has left after it sent is not missed.
func TestLeavingAfterASend(t *testing.T) {
	world(t, 2, func(r *rig, c kernels.Comm) error {
		x, err := issuer(r)
		if err != nil {
			return err
		}
		v := r.symmetric(64)
		if c.Rank() == 0 {
			x.StartSend("act", c, 1, v).Wait()
			return errors.Join(x.Err(), c.Close())
		}
		time.Sleep(20 * time.Millisecond)
		x.StartRecv("act", c, 0, v).Wait()
		return x.Err()
	})
}

// Memory that its owner frees while a peer is about to copy it is an error, never a fault.
func TestFreedUnderATransfer(t *testing.T) {
	errs := ranks(t, 2, func(r *rig, c kernels.Comm) error {
		v := r.symmetric(64)
		if c.Rank() == 0 {
			s, err := r.NewStream("to 1")
			if err != nil {
				return err
			}
			err = r.Do(kernels.Call{Stream: s}, &kernels.Send{Comm: c, Peer: 1, Views: []kernels.View{v}})
			time.Sleep(50 * time.Millisecond)
			return errors.Join(err, r.Free(v.Buf), r.Sync(context.Background(), s))
		}
		time.Sleep(150 * time.Millisecond)
		return r.Do(kernels.Call{}, &kernels.Recv{Comm: c, Peer: 0, Views: []kernels.View{v}})
	})
	for rank, err := range errs {
		if !errors.Is(err, kernels.ErrComm) || !strings.Contains(err.Error(), "freed") {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}
