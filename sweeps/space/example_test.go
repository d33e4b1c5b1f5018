package space_test

import (
	"context"
	"fmt"

	"boost-tui/planner"
	"boost-tui/sweeps/space"
)

// From axes as somebody typed them to the experiments to run.
func Example() {
	s := space.Spec{Set: []space.Assign{{Key: "size", Value: "tiny"}}, Constraints: []string{"tp * rank < 128"}, Twins: true}
	for _, text := range []string{"tp=1,2,3", "rank=32..64*2"} {
		axis, err := space.ParseAxis(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		s.Axes = append(s.Axes, axis)
	}
	x, err := space.Expand(context.Background(), s, planner.Machine{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range x.Points {
		fmt.Println(p.Label)
	}
	for _, p := range x.Pruned {
		fmt.Printf("not %s: %s\n", p.Point, p.Reason)
	}
	// Output:
	// full tp 1
	// vanilla tp 1 rank 32
	// vanilla tp 1 rank 64
	// full tp 2
	// vanilla tp 2 rank 32
	// btp tp 1 rank 32
	// btp tp 1 rank 64
	// btp tp 2 rank 32
	// not btp tp 3 rank 32: tp 3: under btp tp must divide heads (4), d (128), ff (352) and vocab (256)
}
