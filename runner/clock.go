package runner

import (
	"time"

	"boost-tui/internal/wallclock"
)

// wallNow is the time of day as records bear it.
func wallNow() time.Time { return wallclock.Now().UTC() }

func wallNanos() int64 { return wallclock.UnixNano() }
