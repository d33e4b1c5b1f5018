package experiment_test

import (
	"fmt"

	"boost-tui/experiment"
)

// From what a user typed to what is wrong with it.
func Example() {
	e := experiment.Default()
	for key, value := range map[string]string{"size": "7b", "tp": "3"} {
		if err := e.Set(key, value); err != nil {
			fmt.Println(err)
		}
	}
	resolved, err := e.Resolve()
	if err != nil {
		fmt.Println(err)
	}
	for _, v := range resolved.Validate(experiment.Machine{}) {
		fmt.Println(v)
	}
	// Output:
	// tp 3: under btp tp must divide heads (32), d (4096), ff (11008) and vocab (32000); nearest: 2 or 4
}
