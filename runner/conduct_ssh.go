package runner

import (
	"fmt"

	"boost-tui/experiment"
)

// newSSHConductor is who starts the agents of a run on hosts that ssh leads to.
func newSSHConductor(w experiment.Where) (conductor, error) {
	return nil, fmt.Errorf("runs cannot be started by ssh yet (where = %q): say --where %s", w.Where, experiment.WhereLocal)
}
