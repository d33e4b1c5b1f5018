package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"boost-tui/sweeps"
)

// ErrAlone is what Watch returns when the program that looked after the sweep is gone and left points behind: whoever
// watched may take the sweep over.
var ErrAlone = errors.New("nobody looks after the sweep any more")

// watchEvery is how often a sweep that another program holds is looked at.
const watchEvery = 250 * time.Millisecond

// Watch follows a sweep that another program looks after. It returns nil when the sweep is finished, or paused or
// stopped and given back; ErrAlone when its program is gone; sweeps.ErrDeleted; or the cause of the context. notify
// gets every state that differs from the one before; it may be nil.
func Watch(ctx context.Context, s *sweeps.Sweep, notify func(*sweeps.State)) error {
	follow := s.Follow()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		st, changed, err := follow.Next()
		if err != nil {
			return err
		}
		if changed && notify != nil {
			notify(st)
		}
		if !st.Held {
			if st.Phase.Alone() || st.Count(sweeps.Running) > 0 {
				return fmt.Errorf("sweep %s: %w", s.ID, ErrAlone)
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("sweep %s: %w", s.ID, context.Cause(ctx))
		case <-tick.C:
		}
	}
}
