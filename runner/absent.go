package runner

import "fmt"

// peersAbsent is in what a rank says that gave up waiting for others by itself: it knows that they did not come, and not who
// (kernels/cuda/src/message.cu, comm.cu).
const peersAbsent = "have not come"

// absent names the ranks that one waited for in vain: those that are stopped, else those that are behind it; empty: none is. Ranks of
// different stages do different things, so that there only steps can be compared, and what a device has not come to.
func absent(all []standing, waiter int, stages bool) string {
	var at standing
	for _, s := range all {
		if s.Rank == waiter {
			at = s
		}
	}
	var stopped, behind []string
	for _, s := range all {
		switch {
		case s.Rank == waiter || s.Ended:
		case s.Stopped:
			stopped = append(stopped, fmt.Sprintf("rank %d is stopped (SIGSTOP)", s.Rank))
		case s.Waits: // for others, as the waiter did
		case s.Step < at.Step, s.Step == at.Step && (s.Ahead || s.Issued < at.Issued && !stages):
			behind = append(behind, fmt.Sprintf("rank %d is still at step %d, %s", s.Rank, s.Step, s.What))
		}
	}
	if len(stopped) > 0 {
		behind = stopped
	}
	return fewOf(behind)
}
