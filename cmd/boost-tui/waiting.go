package main

import (
	"context"
	"strings"
	"sync"
	"time"

	"boost-tui/runner"
)

const (
	// waitingEvery is how often a run that waits is looked at, waitingAgain how often it is said again what for when only
	// figures of it have changed.
	waitingEvery = 2 * time.Second
	waitingAgain = time.Minute
)

// tellWaiting says what a run waits for, and later that nobody looks after it, until it is over. The function that it gives ends that.
func (a *app) tellWaiting(ctx context.Context, dir string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(waitingEvery)
		defer tick.Stop()
		var said string
		var when time.Time
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			in, err := runner.Read(dir)
			if err != nil || in.State.Over() {
				return
			}
			if in.State == runner.Pending && in.Job(time.Now()) == nil {
				continue // what a run of this machine waits for was said at once
			}
			what, _, _ := strings.Cut(in.Cause, ";")
			if in.Cause == "" {
				said = ""
			}
			if in.Cause != "" && (what != said || time.Since(when) > waitingAgain) {
				said, when = what, time.Now()
				a.note("%s", in.Cause)
			}
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}
