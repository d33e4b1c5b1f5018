package main

import (
	"errors"
	"io/fs"
	"testing"

	"boost-tui/experiment"
)

// Without a home there is no configuration, which is nothing wrong.
func TestNoHomeIsNoConfiguration(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("XDG_CONFIG_HOME", "")
	e := experiment.Default()
	e.Where.Where, e.Where.Nodes = experiment.WhereSlurm, 2
	if m, err := machineOf(e, ""); err != nil || m.Name != experiment.WhereSlurm {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := machineOf(e, "named"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a machine that is asked for: %v", err)
	}
	if names := machineNames(); names != "none" {
		t.Error(names)
	}
}
