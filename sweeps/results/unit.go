package results

import (
	"fmt"
	"math"
	"strconv"
)

// LossTie is the difference in nats up to which two losses are one: one model trained on another number of ranks, or
// under another scheme, adds up in another order, and its losses agree within that (docs/method.md).
const LossTie = 5e-5

// unit is how values of a metric are written for people. Units are never changed.
type unit struct {
	scale float64 // one of it in seconds, bytes, or what else the metric counts
	show  func(float64) string
	tie   float64 // the difference up to which values count as equal
}

var (
	inMillis  = &unit{1e-3, millis, 0}
	inMicros  = &unit{1e-6, func(v float64) string { return digits(v * 1e6) }, 0}
	inSeconds = &unit{1, digits, 0}
	inTokens  = &unit{1, grouped, 0}
	inTimes   = &unit{1, times, 0}
	inNats    = &unit{1, nats, LossTie}
	inMebi    = &unit{1 << 20, mebi, 0}
	inWhole   = &unit{1, whole, 0}
	inGiga    = &unit{1e9, func(v float64) string { return digits(v / 1e9) }, 0}
)

const unknown = "–"

func millis(v float64) string { return digits(v * 1e3) }

func times(v float64) string { return fmt.Sprintf("%.2fx", v) }

func nats(v float64) string { return strconv.FormatFloat(v, 'f', 4, 64) }

func mebi(v float64) string { return strconv.FormatFloat(v/(1<<20), 'f', 1, 64) }

func whole(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }

// digits keeps about four of them.
func digits(v float64) string {
	switch a := math.Abs(v); {
	case a >= 1000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 1 || a == 0:
		return strconv.FormatFloat(v, 'f', 2, 64)
	default:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
}

// grouped is a whole number in groups of three: "24 772".
func grouped(v float64) string {
	s := strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}
