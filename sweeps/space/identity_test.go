package space

import "boost-tui/experiment"

// ID is the identity of one experiment.
func ID(e experiment.Experiment) string { return new(idWriter).id(e) }
