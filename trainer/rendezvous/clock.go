package rendezvous

import (
	"context"
	"fmt"
	"time"

	"boost-tui/internal/wallclock"
)

// Offset is how far the clock of rank 0's host is ahead of this one's.
type Offset struct {
	Ahead time.Duration
	Error time.Duration // Ahead is off by at most this much: half of the round trip
	Trip  time.Duration // the shortest round trip
}

// Offset compares the clocks over some round trips. The shortest of them counts, as in NTP: what delays a message
// spoils the others.
func (c *Client) Offset(ctx context.Context, trips int) (Offset, error) {
	best := Offset{Trip: -1}
	for range max(trips, 1) {
		began, asked := time.Now(), wallclock.Now()
		m, err := c.call(ctx, message{op: opClock})
		trip := time.Since(began)
		if err != nil {
			return Offset{}, fmt.Errorf("compare the clocks: %w", err)
		}
		if best.Trip < 0 || trip < best.Trip {
			middle := asked.Add(trip / 2)
			best = Offset{Ahead: time.Unix(0, m.number).Sub(middle), Error: trip / 2, Trip: trip}
		}
	}
	return best, nil
}
