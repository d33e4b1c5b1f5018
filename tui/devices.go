package tui

import (
	"context"
	"sync"
	"time"

	"boost-tui/sweeps/space"
)

// deviceCheck says what keeps so many ranks of this machine from a device, and what "auto" is for them.
type deviceCheck func(ctx context.Context, device string, ranks int) (string, error)

// deviceAge is how old an answer may get: a look may open a GPU, and libraries come and go rarely.
const deviceAge = time.Minute

// remembered asks once for each device and number of ranks, and again when the answer is old. nil stays nil.
func (c deviceCheck) remembered(now func() time.Time) deviceCheck {
	if c == nil {
		return nil
	}
	type question struct {
		device string
		ranks  int
	}
	type answer struct {
		turn   chan struct{} // taken while somebody asks: others wait for the answer
		at     time.Time
		device string
		err    error
	}
	var mu sync.Mutex
	answers := map[question]*answer{}
	return func(ctx context.Context, device string, ranks int) (string, error) {
		mu.Lock()
		a := answers[question{device, ranks}]
		if a == nil {
			a = &answer{turn: make(chan struct{}, 1)}
			answers[question{device, ranks}] = a
		}
		mu.Unlock()
		select {
		case a.turn <- struct{}{}:
		default:
			select {
			case a.turn <- struct{}{}:
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		}
		defer func() { <-a.turn }()
		if a.at.IsZero() || now().Sub(a.at) > deviceAge {
			device, err := c(ctx, device, ranks)
			if ctx.Err() != nil {
				return device, err // which says nothing about the device
			}
			a.device, a.err, a.at = device, err, now()
		}
		return a.device, a.err
	}
}

// on is the check as spaces of sweeps ask it; nil stays nil.
func (c deviceCheck) on(ctx context.Context) space.DeviceCheck {
	if c == nil {
		return nil
	}
	return func(device string, ranks int) (string, error) { return c(ctx, device, ranks) }
}
