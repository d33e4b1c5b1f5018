package runner

import (
	"testing"

	"boost-tui/runner/protocol"
)

// Step and place are said once, whoever says them.
func TestDescribeSaysThePlaceOnce(t *testing.T) {
	const stall = "step 5: emulated: all-reduce (forward.l2.mlp.core/down): rank 0 of tp: its peers have not come for 8.0 s: rank 1 of tp has not posted its part of it; this rank is at #168 forward.l2.mlp.core/down: all-reduce of 32768 fp32"
	for _, c := range []struct {
		e    protocol.ExitRecord
		want string
	}{
		{protocol.ExitRecord{Cause: stall, Step: 5, Operation: "forward.l2.mlp.core/down, waiting for the other ranks"},
			"rank 0: step 5: emulated: all-reduce (forward.l2.mlp.core/down): rank 0 of tp: its peers have not come for 8.0 s: rank 1 of tp has not posted its part of it; this rank is at #168: all-reduce of 32768 fp32"},
		{protocol.ExitRecord{Cause: stall, Step: 6, Operation: "forward.l2.mlp.core/up"}, "rank 0: " + stall + " (step 6, forward.l2.mlp.core/up)"},
		{protocol.ExitRecord{Cause: "step 5: no memory", Step: 5, Operation: "before forward.l2.mlp.core/down, to which its device has not come"},
			"rank 0: step 5: no memory (before forward.l2.mlp.core/down, to which its device has not come)"},
		{protocol.ExitRecord{Cause: "step 5: emulated: communicator tp: its peers have not come", Step: 5, Operation: "communicator tp"},
			"rank 0: step 5: emulated: communicator tp: its peers have not come"},
		{protocol.ExitRecord{Cause: "step 5: no memory", Step: 5}, "rank 0: step 5: no memory"},
		{protocol.ExitRecord{Cause: "boom", Step: 5, Operation: "forward.l2.mlp.core/down"}, "rank 0: boom (step 5, forward.l2.mlp.core/down)"},
		{protocol.ExitRecord{Cause: "boom", Step: 5}, "rank 0: boom (step 5)"},
		{protocol.ExitRecord{Cause: "boom", Operation: "head"}, "rank 0: boom (before the first step, head)"},
		{protocol.ExitRecord{Signal: "SIGKILL", Step: 15, Operation: "data"}, "rank 0 was ended by SIGKILL (step 15, data)"},
		{protocol.ExitRecord{Cause: "head crash", Step: 2, Operation: "head"}, "rank 0: head crash (step 2, head)"},
		{protocol.ExitRecord{Code: 3}, "rank 0 ended with exit code 3"},
	} {
		if got := describe(c.e); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
