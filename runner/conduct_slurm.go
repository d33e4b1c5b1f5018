package runner

import (
	"fmt"

	"boost-tui/experiment"
)

// newSlurmConductor is who has the agents of a run started by Slurm.
func newSlurmConductor(w experiment.Where) (conductor, error) {
	return nil, fmt.Errorf("runs cannot be started by Slurm yet (where = %q): say --where %s", w.Where, experiment.WhereLocal)
}
