package queue

import (
	"fmt"
	"time"

	"boost-tui/experiment"
	"boost-tui/planner"
	"boost-tui/runner"
)

// limit says which limit of the sweep is reached; empty: none. Limits keep runs from starting; those that go on come
// to their end.
func (e *engine) limit(now time.Time) string {
	o := e.st.Options
	hours := e.st.DeviceHours
	for _, a := range e.live {
		hours += float64(a.point.Ranks) * now.Sub(a.began).Hours()
	}
	switch {
	case o.MaxFailures > 0 && e.st.Failures >= o.MaxFailures:
		return fmt.Sprintf("%d failures in a row (max-failures %d)", e.st.Failures, o.MaxFailures)
	case o.MaxTime > 0 && e.st.Worked >= o.MaxTime:
		return fmt.Sprintf("it was worked on for %s (max-time %s)", e.st.Worked.Round(time.Second), o.MaxTime)
	case o.MaxDeviceHours > 0 && hours >= o.MaxDeviceHours:
		return fmt.Sprintf("its runs have taken %.4g device hours (max-device-hours %g)", hours, o.MaxDeviceHours)
	}
	return ""
}

// memory is what admission knows of the machine's memory.
type memory struct {
	free   int64     // when nothing of the sweep ran; 0: unknown
	since  time.Time // since when the next run waits for memory; zero: it does not
	looked time.Time
	now    int64 // that was available at the last look
}

const (
	// settling is how long a run may take to take its memory, so that what is available does not show it yet.
	settling = 20 * time.Second
	// memoryPatience is how long a run waits for memory that others than the sweep use, before it tries its luck.
	memoryPatience = 2 * time.Minute
)

// needOf is the memory of this machine that all ranks of a run take; 0: unknown, or none to speak of, since they are elsewhere or on GPUs.
func needOf(p *runner.Predicted, ex experiment.Experiment) int64 {
	if p == nil || !here(ex) || ex.Step.Device == experiment.DeviceCUDA {
		return 0
	}
	return p.MemBytes * int64(runner.Run{Experiment: ex}.World())
}

// cardOf is what a rank of a run takes of a GPU of this machine; 0: unknown, or none.
func cardOf(p *runner.Predicted, ex experiment.Experiment) int64 {
	if p == nil || !here(ex) || ex.Step.Device != experiment.DeviceCUDA {
		return 0
	}
	return p.MemBytes
}

// here reports whether the ranks of an experiment are on this machine.
func here(ex experiment.Experiment) bool {
	return ex.Where.Where == "" || ex.Where.Where == experiment.WhereLocal
}

// admitCard reports whether the GPUs have memory for another run beside those of the sweep that go on: ranks of all of them are on the first
// ones. One that runs alone is admitted, for it was judged before.
func (e *engine) admitCard(p *runner.Predicted, ex experiment.Experiment) bool {
	card, all := cardOf(p, ex), int64(0)
	for _, a := range e.live {
		if a.card > 0 {
			all += a.card + planner.GPUMarginBytes
		}
	}
	has := int64(0)
	if p != nil {
		has = p.MachineBytes / int64(max(1, ex.World()))
	}
	return card == 0 || all == 0 || has > 0 && all+card+planner.GPUMarginBytes <= has
}

// admit reports whether the machine has the memory for another run, beside those that go on.
func (e *engine) admit(pr *preparation) bool {
	need := needOf(pr.o.Predicted, pr.e)
	if need == 0 {
		return e.admitCard(pr.o.Predicted, pr.e)
	}
	m := &e.memory
	if now := time.Now(); now.Sub(m.looked) > time.Second || len(e.live) == 0 {
		m.looked, m.now = now, planner.ThisMachine().AvailableBytes
	}
	if m.now <= 0 { // nobody knows
		return true
	}
	var all, young int64
	for _, a := range e.live {
		all += a.need
		if time.Since(a.began) < settling {
			young += a.need
		}
	}
	if len(e.live) == 0 || m.free == 0 {
		m.free = m.now + all - young
	}
	if need+all <= m.free && need+young <= m.now {
		m.since = time.Time{}
		return true
	}
	return e.waited(need, m)
}

// waited decides about a run that lacks memory. Beside others of the sweep it waits until they end.
func (e *engine) waited(need int64, m *memory) bool {
	if len(e.live) > 0 {
		return false
	}
	if m.since.IsZero() {
		m.since = time.Now()
		e.note(fmt.Sprintf("the next run needs %s of memory and %s are available: it waits for others to free some, at most %s",
			experiment.FormatBytes(need), experiment.FormatBytes(m.now), memoryPatience))
	}
	if time.Since(m.since) < memoryPatience {
		return false
	}
	m.since = time.Time{}
	return true
}
