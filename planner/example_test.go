package planner_test

import (
	"fmt"

	"boost-tui/experiment"
	"boost-tui/planner"
)

// What one block of BOOST's 7B communicates on 4 ranks, in the forward, under each scheme.
func ExampleNew() {
	for _, scheme := range []string{"btp", "vanilla"} {
		e := experiment.Default()
		for key, value := range map[string]string{"size": "7b", "tp": "4", "micro-batch": "4", "scheme": scheme} {
			if err := e.Set(key, value); err != nil {
				fmt.Println(err)
			}
		}
		resolved, err := e.ResolveForPlan()
		if err != nil {
			fmt.Println(err)
		}
		p, err := planner.New(resolved, planner.Machine{})
		if err != nil {
			fmt.Println(err)
		}
		fmt.Printf("%s: %d elements\n", scheme, p.Block.Forward.Elements)
	}
	// Output:
	// btp: 117473280 elements
	// vanilla: 696254464 elements
}
