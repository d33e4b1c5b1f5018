package experiment

import "reflect"

// Minimal is the shortest way to say the same: every key whose value Resolve would derive from the rest, or that Default
// has anyway, goes back to open. Minimal().Resolve() and Resolve() are equal. An earlier run is put into a form
// by it: whoever then picks another size gets that size's shape, not the old one under the new name.
// An experiment that does not resolve is returned as it is.
func (e Experiment) Minimal() Experiment {
	want, err := e.Resolve()
	if err != nil {
		return e
	}
	def := Default()
	for _, k := range keys {
		open := k.get(&def)
		if k.get(&e) == open {
			continue
		}
		shorter := e
		if k.set(&shorter, open) != nil {
			continue
		}
		if got, err := shorter.Resolve(); err == nil && reflect.DeepEqual(got, want) {
			e = shorter
		}
	}
	return e
}

// Given lists the names of the keys that an experiment says, in the order of Keys: those that differ from Default.
func (e Experiment) Given() []string {
	def := Default()
	var names []string
	for _, k := range keys {
		if k.get(&e) != k.get(&def) {
			names = append(names, k.Name)
		}
	}
	return names
}

// Flags are the arguments that say the experiment to `boost-tui run` and `plan`: its minimal form, a flag and a value for each
// key.
func (e Experiment) Flags() []string {
	e = e.Minimal()
	var args []string
	for _, name := range e.Given() {
		args = append(args, "--"+name, e.Get(name))
	}
	return args
}
