package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"boost-tui/experiment"
	"boost-tui/kernels/cuda"
	"boost-tui/trainer/devices"
	"boost-tui/trainer/prove"
)

// known refuses, before anything is measured, what there is not, what does not go together, and what every part would refuse.
func (f benchDevice) known() error {
	if err := f.together(); err != nil {
		return err
	}
	device := f.all.Device
	switch {
	case device != experiment.DeviceCUDA && device != experiment.DeviceEmu:
		return fmt.Errorf("--device %.40q: cuda or emulated", device)
	case f.given("part") && !slices.Contains(prove.Names(), f.part):
		return fmt.Errorf("--part %.60q: there are %s", f.part, strings.Join(prove.Names(), ", "))
	case f.budget < 0:
		return fmt.Errorf("--budget %v: it is below 0", f.budget)
	case f.all.Limit < prove.LeastLimit:
		return fmt.Errorf("--limit %v: at least %v, or no part can be begun", f.all.Limit, prove.LeastLimit)
	case f.given("check") && f.check == "":
		return errors.New("--check is empty: name a report")
	case f.given("out") && f.all.Out == "":
		return errors.New("--out is empty: name a new file")
	case f.given("only") && len(f.all.Only) == 0:
		return fmt.Errorf("--only is empty: there are %s", strings.Join(prove.Parts(), ", "))
	}
	for _, name := range f.all.Only {
		if !slices.Contains(prove.Parts(), name) {
			return fmt.Errorf("--only %.60q: there are %s", name, strings.Join(prove.Parts(), ", "))
		}
	}
	if _, err := devices.Stall(); err != nil {
		return err
	}
	if device == experiment.DeviceEmu {
		return cuda.CheckMode()
	}
	return nil
}

// together refuses flags that mean nothing beside others.
func (f benchDevice) together() error {
	check, part := []string{"part", "budget", "device", "tiny", "out", "only", "limit", "python"}, []string{"out", "only", "limit", "python"}
	for flag, others := range map[string][]string{"check": check, "part": part} {
		if i := slices.IndexFunc(others, f.given); i >= 0 && f.given(flag) {
			return fmt.Errorf("--%s means nothing beside --%s", others[i], flag)
		}
	}
	if f.given("budget") && !f.given("part") {
		return errors.New("--budget means nothing without --part")
	}
	return nil
}
