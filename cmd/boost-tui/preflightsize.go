package main

import (
	"slices"

	"boost-tui/experiment"
	"boost-tui/planner"
)

// shapeless reports whether the command line says nothing of the model's shape.
func (f *experimentFlags) shapeless() bool {
	return f.config == "" && f.resume() == "" && !slices.ContainsFunc(f.assigns, func(a said) bool {
		return slices.Contains([]string{"size", "d", "layers", "heads", "ff", "vocab"}, a.key)
	})
}

// shape gives a look whose size nobody has named the smallest one that its degrees divide, where the default's does not: only the
// machines are looked at. It leaves the experiment as it is where no size will do, or where that one needs more memory than there is.
func (c checks) shape(e *experiment.Experiment) {
	works := func(size string) (try experiment.Experiment, ok bool) {
		tokens, err := experiment.PresetOf(e.Model.Size)
		if err != nil {
			return *e, false
		}
		try = *e
		try.Model.Size = size
		if size != e.Model.Size { // its vocabulary alone makes it larger
			try.Step.MicroBatch, try.Step.Seq = orElse(e.Step.MicroBatch, tokens.MicroBatch), orElse(e.Step.Seq, tokens.Seq)
		}
		r, err := try.Resolve()
		return try, err == nil && experiment.Invalid(r.Broken(experiment.Machine{})) == nil
	}
	if _, ok := works(e.Model.Size); ok {
		return
	}
	for _, p := range experiment.Presets() {
		try, ok := works(p.Name)
		if !ok {
			continue
		}
		r, err := try.Resolve()
		m, unknown := machineOf(r, "")
		if err != nil || unknown != nil || slices.ContainsFunc(planner.Check(r, m), func(v experiment.Violation) bool {
			return !v.Warning && (v.Rule == experiment.RuleMemory || v.Rule == experiment.RuleGPUMemory)
		}) {
			return
		}
		c.note("no --size is named: %s, the smallest that %s divides", p.Name, e.Parallel.Degrees())
		*e = try
		return
	}
}

func orElse(v, otherwise int) int {
	if v == 0 {
		return otherwise
	}
	return v
}
