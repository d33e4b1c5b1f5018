package record

import (
	"strconv"
	"strings"
)

// Flow is what the group of a span says. Messages of one flow are numbered along it.
type Flow struct {
	Axis string // "tp", "dp", "pp": groups of one axis are of one kind
	// From and To are the ends of a transfer, as ranks of the group; -1: a collective.
	From, To int
}

// FlowOf reads a span's group: "tp", "tp.1" (one of several groups along the axis), "pp 0>1" (a transfer). A name of
// another form is an axis of its own.
func FlowOf(group string) Flow {
	f := Flow{Axis: group, From: -1, To: -1}
	if name, ends, ok := strings.Cut(group, " "); ok {
		from, to, _ := strings.Cut(ends, ">")
		a, errA := strconv.Atoi(from)
		b, errB := strconv.Atoi(to)
		if errA != nil || errB != nil || a < 0 || b < 0 {
			return f
		}
		f = Flow{name, a, b}
	}
	if name, number, ok := strings.Cut(f.Axis, "."); ok && name != "" {
		if _, err := strconv.Atoi(number); err == nil {
			f.Axis = name
		}
	}
	return f
}

// Transfer reports whether the flow is between two ranks.
func (f Flow) Transfer() bool { return f.From >= 0 }
