package experiment

// Continued is the experiment of a checkpoint as a run that resumes it takes it over: where that other run was to stop, and what
// its own weights began with, are not for this one.
func (e Experiment) Continued() Experiment {
	e.Train.StopAfter, e.Train.InitFrom, e.Train.Resume = 0, "", ""
	return e
}

// FlagsOver are the arguments that say the experiment to `boost-tui run --resume`, which begins with what Continued gives of
// the checkpoint's experiment: a flag and a value for each key that differs from it. Where that is not known (nil), every key
// is named.
func (e Experiment) FlagsOver(continued *Experiment) []string {
	if r, err := e.Resolve(); err == nil {
		e = r
	}
	var args []string
	for _, k := range keys {
		if !k.Means(e.Model.Variant) || continued != nil && k.get(&e) == k.get(continued) {
			continue
		}
		v := k.Say(&e)
		if v == "" && k.Open {
			v = auto
		}
		args = append(args, "--"+k.Name, v)
	}
	return args
}
