package planner

import (
	"strconv"

	"boost-tui/experiment"
)

// Check is experiment.Validate with the memory that the ranks need on the machine, or on its GPUs. For a micro-batch, a
// sequence or a size that needs too much it names the nearest that fits, if one does.
func Check(e experiment.Experiment, m Machine) []experiment.Violation {
	vs := e.Validate(m.rules(e, loads{}))
	if !m.measures(e) || experiment.Invalid(vs) != nil {
		return vs
	}
	need, err := needs(e)
	if err != nil {
		return append(vs, unplanned(e, err))
	}
	vs = e.Validate(m.rules(e, need))
	for i, v := range vs {
		if v.Rule == experiment.RuleMemory || v.Rule == experiment.RuleGPUMemory {
			vs[i] = wayOut(e, v, m)
		}
	}
	return vs
}

// unplanned is the violation of an experiment that no step can be made of.
func unplanned(e experiment.Experiment, err error) experiment.Violation {
	return experiment.Violation{Key: "size", Value: e.Model.Size, Rule: "the step can be planned", Reason: err.Error()}
}

// wayOut completes a violation of the memory's rule: the key that helps with the least harm, and its value.
func wayOut(e experiment.Experiment, v experiment.Violation, m Machine) experiment.Violation {
	for _, key := range []string{"micro-batch", "seq", "size"} {
		if near := fitting(e, key, m); len(near) > 0 {
			v.Key, v.Value, v.Nearest = key, e.Get(key), near
			break
		}
	}
	return v
}

// needs is the memory of the ranks.
func needs(e experiment.Experiment) (loads, error) {
	var z Sizer
	return z.loads(e)
}

// fitting finds the largest smaller value of a key with which the experiment is valid and fits, on GPUs with what is assumed to come beside it.
func fitting(e experiment.Experiment, key string, m Machine) []string {
	for _, v := range smaller(e, key) {
		try, err := with(e, key, v)
		if err != nil || experiment.Invalid(try.Validate(experiment.Machine{})) != nil {
			continue
		}
		if need, err := needs(try); err == nil && m.roomy(try, need) {
			return []string{v}
		}
	}
	return nil
}

// smaller lists values to try, the largest first.
func smaller(e experiment.Experiment, key string) []string {
	var out []string
	switch key {
	case "micro-batch":
		for n := e.Step.MicroBatch - 1; n >= 1; n = n * 3 / 4 {
			out = append(out, strconv.Itoa(n))
		}
	case "seq":
		for n := e.Step.Seq / 2; n >= 64; n /= 2 {
			out = append(out, strconv.Itoa(n))
		}
	case "size":
		presets := experiment.Presets()
		for i := len(presets) - 1; i >= 0; i-- {
			if presets[i].D < e.Model.D || presets[i].Layers < e.Model.Layers {
				out = append(out, presets[i].Name)
			}
		}
	}
	return out
}

// with is the experiment under another value. Another size brings its own shape.
func with(e experiment.Experiment, key, value string) (experiment.Experiment, error) {
	if key == "size" {
		keep := e.Model
		e.Model = experiment.Model{Variant: keep.Variant, NormEps: keep.NormEps, RopeTheta: keep.RopeTheta}
	}
	if err := e.Set(key, value); err != nil {
		return e, err
	}
	return e.Resolve()
}
