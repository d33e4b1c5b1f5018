package cuda

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"boost-tui/kernels"
	"boost-tui/kernels/backend"
)

// A rank that waits for its device says which message that stands at, on another stream, and that it waits no more.
func TestHeedsWhatItWaitsFor(t *testing.T) {
	here, there := device(t, ""), device(t, "")
	uid, err := here.UID()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	heard := make(chan struct{})
	var told []kernels.UnderWay
	here.Heed(func(m kernels.UnderWay) {
		if told = append(told, m); len(told) == 1 {
			close(heard)
		}
	})
	label := kernels.Label{Phase: kernels.Forward, Layer: 3, Chunk: "attn.in", Op: "qkv"}
	rank := func(d kernels.Device, x kernels.View, rank int) error {
		c, err := d.Join(ctx, uid, 2, rank, "tp")
		if err != nil {
			return err
		}
		if rank == 1 { // late
			select {
			case <-heard:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		s, err := d.NewStream("tp")
		if err != nil {
			return err
		}
		done, err := d.NewEvent()
		if err != nil {
			return err
		}
		for _, f := range []func() error{
			func() error {
				return d.Do(kernels.Call{Stream: s, Label: label}, &kernels.Collective{Comm: c, Parts: []kernels.Part{{Send: x}}})
			},
			func() error { return d.Record(done, s) },
			func() error { return d.Wait(kernels.ComputeStream, done) },
			func() error { return d.Do(kernels.Call{}, &kernels.Fill{X: x}) },
			func() error { return d.Sync(ctx, kernels.ComputeStream) },
		} {
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	}
	var wg sync.WaitGroup
	for i, d := range []*backend.Device{here, there} {
		x := place(t, d, 1, 16, kernels.F32)
		wg.Go(func() {
			if err := rank(d, x, i); err != nil {
				t.Errorf("rank %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	want := []kernels.UnderWay{{Label: label, State: kernels.MessageBegun}, {}}
	if !slices.Equal(told, want) {
		t.Errorf("told %+v, want %+v", told, want)
	}
}
