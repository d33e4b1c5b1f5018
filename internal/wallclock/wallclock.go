// Package wallclock is the time of day of this host as records bear it. Durations, deadlines and what is compared within one
// process use the time package, whose clock no test moves.
package wallclock

import (
	"os"
	"sync"
	"time"
)

// EnvOffset moves the time of day that records of this process bear: a duration as Go writes it, like -5m. It rehearses hosts
// whose clocks disagree; what it does not parse is no offset.
const EnvOffset = "BOOST_TEST_CLOCK_OFFSET"

var offset = sync.OnceValue(func() time.Duration {
	d, err := time.ParseDuration(os.Getenv(EnvOffset))
	if err != nil {
		return 0
	}
	return d
})

// Now is the time of day.
func Now() time.Time { return time.Now().Add(offset()) }

// UnixNano is Now in nanoseconds since 1970.
func UnixNano() int64 { return Now().UnixNano() }

// Offset is what Now adds to the clock of the system: nothing, but where a test moves it.
func Offset() time.Duration { return offset() }
