package reference

import (
	"errors"
	"testing"
	"time"

	"boost-tui/kernels"
)

// Two ranks that both send before they take what the other sent, and receives that were issued before the send
// that they depend on: neither may deadlock, whatever is put off.
func TestTransfers(t *testing.T) {
	for _, deferred := range []bool{false, true} {
		ranks := join(t, &World{Deferred: deferred}, 2, 6)
		together(2, func(r int) {
			k := ranks[r]
			k.put(t, float32(r+1), float32(r+3), 0, 0, 0, 0)
			x, err := kernels.NewExec(k.Device)
			if err != nil {
				t.Error(err)
				return
			}
			in := x.StartRecv("in", k.comm, 1-r, k.mem.ColRange(2, 4))
			out := x.StartSend("out", k.comm, 1-r, k.mem.ColRange(0, 2))
			in.Wait()
			// What came goes back.
			again, back := x.StartRecv("again", k.comm, 1-r, k.mem.ColRange(4, 5), k.mem.ColRange(5, 6)), kernels.Pending{}
			back = x.StartSend("back", k.comm, 1-r, k.mem.ColRange(2, 3), k.mem.ColRange(3, 4))
			again.Wait()
			out.Wait()
			back.Wait()
			if x.Err() != nil {
				t.Errorf("rank %d: %v", r, x.Err())
			}
			mine, other := float32(r), float32(1-r)
			if got := [6]float32(k.get(t)); got != [6]float32{mine + 1, mine + 3, other + 1, other + 3, mine + 1, mine + 3} {
				t.Errorf("deferred %v rank %d: %v", deferred, r, got)
			}
		})
	}
}

// A send that is not waited for before its memory is written shows, when things are put off.
func TestSendReadsLate(t *testing.T) {
	ranks := join(t, &World{Deferred: true}, 2, 4)
	together(2, func(r int) {
		k := ranks[r]
		x, _ := kernels.NewExec(k.Device)
		if r == 0 {
			k.put(t, 7)
			p := x.StartSend("out", k.comm, 1, k.mem.ColRange(0, 1))
			x.Do("too early", &kernels.Fill{X: k.mem, Value: 9})
			p.Wait()
		} else {
			x.StartRecv("in", k.comm, 0, k.mem.ColRange(0, 1)).Wait()
			if got := k.get(t)[0]; got != 9 {
				t.Errorf("received %v", got)
			}
		}
		if x.Err() != nil {
			t.Error(x.Err())
		}
	})
}

func TestTransfersMustFit(t *testing.T) {
	ranks := join(t, &World{}, 2, 4)
	together(2, func(r int) {
		k := ranks[r]
		x, _ := kernels.NewExec(k.Device)
		if r == 0 {
			x.StartSend("out", k.comm, 1, k.mem.ColRange(0, 3)).Wait()
			return
		}
		if x.StartRecv("in", k.comm, 0, k.mem.ColRange(0, 4)).Wait(); !errors.Is(x.Err(), kernels.ErrComm) {
			t.Error(x.Err())
		}
	})
}

func TestAbortEndsReceive(t *testing.T) {
	ranks := join(t, &World{}, 2, 4)
	timer := time.AfterFunc(20*time.Millisecond, func() { _ = ranks[1].comm.Abort() })
	defer timer.Stop()
	err := ranks[0].Do(kernels.Call{}, &kernels.Recv{Comm: ranks[0].comm, Peer: 1, Views: []kernels.View{ranks[0].mem}})
	if !errors.Is(err, kernels.ErrAborted) {
		t.Error(err)
	}
}
