package runner

import (
	"context"
	"fmt"
	"time"

	"boost-tui/profiler/record"
)

// ready does what the ranks' device needs before they start. When somebody ends the run meanwhile, it returns the state and cause of
// that, and when it does not come about the failure; the state is empty when the ranks may start.
func (a *agent) ready(ctx context.Context, life <-chan string) (State, string) {
	if a.o.Prepare == nil {
		return "", ""
	}
	own, stop := context.WithCancel(ctx)
	defer stop()
	said, done := make(chan string, 1), make(chan error, 1)
	go func() {
		done <- a.o.Prepare(own, a.run.Experiment.Step.Device, func(format string, args ...any) {
			select {
			case said <- fmt.Sprintf(format, args...):
			case <-own.Done():
			}
		})
	}()
	end := func(s State, cause string) (State, string) {
		stop()
		<-done
		return s, cause
	}
	tick := time.NewTicker(awaitEvery)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case err := <-done:
			if err != nil && ctx.Err() != nil {
				return Cancelled, a.signalReason()
			}
			if err != nil {
				return Failed, err.Error()
			}
			return "", ""
		case text := <-said:
			a.note(record.EventNote, "device", text, nil)
		case <-ctx.Done():
			return end(Cancelled, a.signalReason())
		case reason, ok := <-life:
			if life = nil; ok {
				return end(Cancelled, reason)
			}
		case <-tick.C:
			if reason, ok := cancelRequest(a.dir); ok {
				return end(Cancelled, reason)
			}
			if a.gone = a.removed(); a.gone {
				return end(Cancelled, directoryGone+" before its ranks started")
			}
			if n%beatEvery == 0 {
				_ = beat(a.dir, n/beatEvery) // the next one may succeed
			}
		}
	}
}
