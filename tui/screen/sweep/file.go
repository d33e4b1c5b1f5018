package sweep

import (
	"strconv"

	"boost-tui/sweeps"
	"boost-tui/sweeps/space"
)

// fileOf is the draft as a sweep's file: the space, and of the queue's options
// those that are not the default.
func fileOf(d draft) space.File {
	f := space.File{Spec: d.spec()}
	o, def := d.Options, sweeps.DefaultOptions()
	differs(&f.Options.Order, o.Order, def.Order)
	differs(&f.Options.AtOnce, o.AtOnce, def.AtOnce)
	differs(&f.Options.MaxTime, o.MaxTime, def.MaxTime)
	differs(&f.Options.MaxDeviceHours, o.MaxDeviceHours, def.MaxDeviceHours)
	differs(&f.Options.MaxFailures, o.MaxFailures, def.MaxFailures)
	differs(&f.Options.Retries, o.Retries, def.Retries)
	differs(&f.Options.StopDiverged, o.StopDiverged, def.StopDiverged)
	differs(&f.Options.StopSlower, o.StopSlower, def.StopSlower)
	return f
}

// differs says a value where it is not the usual one.
func differs[T comparable](said **T, value, usual T) {
	if value != usual {
		*said = &value
	}
}

// command is the arguments of `boost-tui` that make the same sweep.
func command(d draft) []string {
	out := []string{"boost-tui", "sweep"}
	s := d.spec()
	for _, a := range s.Axes {
		out = append(out, "--axis", a.String())
	}
	for _, a := range s.Set {
		out = append(out, "--set", a.Key+"="+a.Value)
	}
	for _, c := range s.Constraints {
		out = append(out, "--constraint", c)
	}
	if s.Twins {
		out = append(out, "--twins")
	}
	if s.Repeats > 1 {
		out = append(out, "--repeats", strconv.Itoa(s.Repeats))
	}
	if s.Name != "" {
		out = append(out, "--name", s.Name)
	}
	o, f := d.Options, fileOf(d).Options
	for _, flag := range []struct {
		said        bool
		name, value string
	}{
		{f.Order != nil, "--order", o.Order}, {f.AtOnce != nil, "--at-once", strconv.Itoa(o.AtOnce)}, {f.MaxTime != nil, "--max-time", span(o.MaxTime)},
		{f.MaxDeviceHours != nil, "--max-device-hours", number(o.MaxDeviceHours)}, {f.MaxFailures != nil, "--max-failures", strconv.Itoa(o.MaxFailures)},
		{f.Retries != nil, "--retries", strconv.Itoa(o.Retries)}, {f.StopDiverged != nil, "--stop-diverged", word(o.StopDiverged)},
		{f.StopSlower != nil, "--stop-slower", word(o.StopSlower)},
	} {
		if flag.said {
			out = append(out, flag.name+"="+flag.value)
		}
	}
	return out
}
