package control

import (
	"encoding/binary"
	"errors"
	"sync"
	"time"
)

// keepTrips is how many round trips the estimate of a clock's offset looks back on.
const keepTrips = 32

// beatBytes is the body of a beat: three times, in nanoseconds.
const beatBytes = 3 * 8

// beat is a sign of life: the sender's time of day, the last that it got from the receiver, and how long ago that was.
type beat struct {
	sent, echo int64
	held       time.Duration
}

func (b beat) bytes() []byte {
	out := binary.BigEndian.AppendUint64(make([]byte, 0, beatBytes), uint64(b.sent))
	out = binary.BigEndian.AppendUint64(out, uint64(b.echo))
	return binary.BigEndian.AppendUint64(out, uint64(b.held))
}

func parseBeat(body []byte) (beat, error) {
	if len(body) != beatBytes {
		return beat{}, errors.New("a beat of another length")
	}
	at := func(i int) int64 { return int64(binary.BigEndian.Uint64(body[8*i:])) }
	b := beat{at(0), at(1), time.Duration(at(2))}
	if b.held < 0 {
		return beat{}, errors.New("a beat that was held for less than nothing")
	}
	return b, nil
}

// trip is what one beat tells.
type trip struct{ round, offset time.Duration }

// clock estimates the offset of the other side's clock. Of many round trips the shortest is the least wrong.
type clock struct {
	mu    sync.Mutex
	now   func() time.Time
	sent  int64     // by the other side, most recently
	at    time.Time // when that arrived, with the monotonic clock
	trips []trip
}

// next is the beat to send.
func (c *clock) next() beat {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := beat{sent: c.now().UnixNano(), echo: c.sent}
	if c.sent != 0 {
		b.held = time.Since(c.at)
	}
	return b
}

// heard takes in a beat.
func (c *clock) heard(b beat) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent, c.at = b.sent, time.Now()
	if b.echo == 0 {
		return
	}
	now := c.now().UnixNano()
	round := time.Duration(now-b.echo) - b.held
	if round < 0 || round > time.Minute { // a clock was set in the meantime
		return
	}
	c.trips = append(c.trips, trip{round, time.Duration(b.sent-now) + round/2})
	if len(c.trips) > keepTrips {
		c.trips = c.trips[1:]
	}
}

// offset is the best estimate.
func (c *clock) offset() Offset {
	c.mu.Lock()
	defer c.mu.Unlock()
	var best Offset
	for _, t := range c.trips {
		if !best.Known || t.round/2 < best.Error {
			best = Offset{Offset: t.offset, Error: t.round / 2, Known: true}
		}
	}
	return best
}
