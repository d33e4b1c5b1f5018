package launch

import (
	"fmt"
	"slices"
	"strings"

	"boost-tui/experiment"
	"boost-tui/runner"
	"boost-tui/runner/slurm"
	"boost-tui/tui/widget/form"
)

// draft is the experiment being made and everything that follows from it
// without planning: the resolved values, the rules it breaks, the form.
type draft struct {
	set        experiment.Experiment // as the user says it; open values are open
	resolved   experiment.Experiment
	machine    experiment.Machine
	faults     []experiment.Violation
	all        bool // every key in the form, not the main ones alone
	aside      aside
	place      []experiment.Violation // what stands against its place; it was asked aside
	quick      bool                   // no ways out are looked for
	setups     []string               // that the user's own configuration has
	partitions []slurm.Partition      // that Slurm says there are
	named      named                  // machines, by its key hosts
	start      start
	devices    devices // of this machine
	note       string  // what the last change did beside what was asked; "" nothing
}

// mainKeys are the form's fields unless all are asked for, in order.
var mainKeys = []string{"size", "variant", "scheme", "rank", "tp", "micro-batch", "accumulate", "seq", "norm", "grouping", "steps", "warmup", "lr", "seed", "data", "device"}

// lastKeys stand below the place.
var lastKeys = []string{"name", "tags"}

// ruled fields have a dividing line above them.
var ruled = map[string]bool{"steps": true, "where": true, "name": true}

func newDraft(e experiment.Experiment) draft {
	d := draft{set: e}
	d.settle()
	return d
}

// settle works out what follows from set.
func (d *draft) settle() {
	resolved, err := d.resolve(d.set)
	if err != nil {
		d.resolved, d.faults = d.set, []experiment.Violation{{Key: "size", Value: d.set.Model.Size, Rule: "size is known", Reason: err.Error()}}
		return
	}
	d.resolved, d.faults = resolved, append(d.broken(resolved), placeFaults(resolved, d.named)...)
	d.faults = append(d.faults, d.unknownPartition(resolved.Where)...)
	if len(d.place) > 0 && d.place[0].Value == resolved.Where.Where && len(d.obstacles()) == 0 {
		d.faults = append(d.faults, d.place...)
	}
	if d.start.fault != nil && len(d.obstacles()) == 0 {
		d.faults = append(d.faults, *d.start.fault)
	}
}

// broken are the rules that a resolved experiment breaks on its machine, what its device lacks there among them.
func (d *draft) broken(e experiment.Experiment) []experiment.Violation {
	validate := e.Validate
	if d.quick {
		validate = e.Broken
	}
	machine := d.machine
	machine.GPUs.None = machine.GPUs.None && len(d.devices.known) == 0 // which say more than that there is no GPU
	out := validate(machine)
	if lack := d.devices.lack(e); lack != nil && experiment.Invalid(out) == nil {
		out = append(out, *lack)
	}
	return out
}

// resolve makes an experiment explicit, on the device that it has here.
func (d *draft) resolve(e experiment.Experiment) (experiment.Experiment, error) {
	resolved, err := e.Resolve()
	if err != nil || !isOpen(e) {
		return resolved, err
	}
	open := e
	open.Parallel = resolved.Parallel // which says how many ranks there are
	e.Step.Device = d.settled(open).Step.Device
	return e.Resolve()
}

// obstaclesBut are the obstacles that another rule than the named makes.
func (d *draft) obstaclesBut(rule string) []experiment.Violation {
	return slices.DeleteFunc(d.obstacles(), func(v experiment.Violation) bool { return v.Rule == rule })
}

// obstacles are the broken rules that are no warnings.
func (d *draft) obstacles() []experiment.Violation {
	var out []experiment.Violation
	for _, v := range d.faults {
		if !v.Warning {
			out = append(out, v)
		}
	}
	return out
}

// change sets a key. An empty text, or "auto" where the key allows it, goes
// back to the default. A scheme that the user set for another variant is put
// aside with the variant, and a shape with the size: a size names its own. Both
// come back with them; note says so.
func (d *draft) change(key, value string) error {
	e := d.set
	value = strings.TrimSpace(value)
	if key == "setup" && value == noSetup {
		value = ""
	}
	if k, _ := experiment.KeyOf(key); value == "" && k.Kind != experiment.List && key != "name" {
		fallback := experiment.Default()
		value = fallback.Get(key)
		if k.Open {
			value = "auto"
		}
	}
	if len(value) > longText {
		return fmt.Errorf("%s has %d characters, at most %d are taken", key, len(value), longText)
	}
	if err := e.Set(key, value); err != nil {
		return err
	}
	d.note = ""
	switch key {
	case "size":
		d.note = d.aside.otherSize(&e, d.set.Model.Size)
	case "variant":
		d.note = d.aside.otherVariant(&e)
	case "scheme":
		d.aside.scheme = ""
	case "resume":
		d.start.take = e.Train.Resume != ""
		if d.start.take {
			e.Train.InitFrom = ""
		}
	case "where":
		d.note = d.aside.otherPlace(&e, d.set.Where.Where)
	}
	if e.Where != d.set.Where {
		d.place = nil // that was about another
		if !isLocal(e.Where) {
			d.machine.MemBytes, d.machine.Cores = 0, 0 // until it is known what they have
		}
	}
	if e.Where != d.set.Where || e.Step.Device != d.set.Step.Device {
		d.machine.Nodes, d.machine.GPUs = 0, experiment.GPUs{} // the same
	}
	d.set = e
	d.settle()
	return nil
}

// noSetup stands for no setup among those that there are.
const noSetup = "none"

func fits(v experiment.Variant, s experiment.Scheme) bool {
	for _, ok := range v.Schemes() {
		if ok == s {
			return true
		}
	}
	return false
}

// fields makes the form.
func (d *draft) fields() []form.Field {
	if !d.all {
		out := make([]form.Field, 0, len(mainKeys))
		for _, name := range slices.Concat(mainKeys, d.own(), whereKeys(d.set.Where.Where), lastKeys, d.others()) {
			if k, ok := experiment.KeyOf(name); ok {
				f := d.field(k)
				f.Rule = ruled[name]
				out = append(out, f)
			}
		}
		return out
	}
	var out []form.Field
	section := ""
	for _, k := range experiment.Keys() {
		if k.Name != "rank" && !k.Means(d.resolved.Model.Variant) {
			continue
		}
		f := d.field(k)
		f.Rule, section = k.Section != section && len(out) > 0, k.Section
		out = append(out, f)
	}
	return out
}

// own are the keys that only the variant has, and a few like it.
func (d *draft) own() (names []string) {
	for _, k := range experiment.Keys() {
		if k.For != nil && !strings.HasPrefix(k.Name, "rank") && k.Means(d.resolved.Model.Variant) {
			names = append(names, k.Name)
		}
	}
	return names
}

// others are the keys beside these that the experiment depends on: none may be at work unseen.
func (d *draft) others() []string {
	shown := slices.Concat(mainKeys, d.own(), whereKeys(d.set.Where.Where), lastKeys)
	return slices.DeleteFunc(d.set.Minimal().Given(), func(name string) bool { return slices.Contains(shown, name) })
}

// command is the exact command line that does the same.
func (d *draft) command() []string {
	args := Command(d.set, d.start.base)
	if d.keepsCPU() && d.set.Train.Resume == "" { // of a checkpoint's run, what differs is said
		args = slices.Insert(args, len(args)-1, "--device", experiment.DeviceCPU) // before --detach
	}
	return args
}

// minimal is what the draft says without what follows from the rest.
func (d *draft) minimal() experiment.Experiment {
	e := d.set.Minimal()
	if d.keepsCPU() {
		e.Step.Device = experiment.DeviceCPU
	}
	return e
}

// keepsCPU reports whether the cpu is asked for by name. By a model's rules it is what an open device comes to, and so no part of
// the least that says an experiment; where there are GPUs it is not.
func (d *draft) keepsCPU() bool { return d.set.Step.Device == experiment.DeviceCPU }

// Command is the arguments of `boost-tui` that run an experiment, resolved or
// not: every value that does not follow from the others, as a flag. Of one that
// resumes a checkpoint, every value that differs from what is continued (nil: unknown).
func Command(e experiment.Experiment, continued *experiment.Experiment) []string {
	r := runner.Run{Experiment: e, Resumed: &runner.Resumed{Experiment: continued}}
	return append(r.Command(), "--detach")
}

// three are the experiments of the comparison that the program is about:
// full-rank, vanilla and btp with everything else the same.
func (d *draft) three() []experiment.Experiment {
	low := d.set.Model.Variant
	if !low.LowRank() {
		low = experiment.CoLA
	}
	out := make([]experiment.Experiment, 0, 3)
	for _, c := range []struct {
		v experiment.Variant
		s experiment.Scheme
	}{{experiment.Full, experiment.FullRank}, {low, experiment.Vanilla}, {low, experiment.BTP}} {
		e := d.set
		e.Model.Variant, e.Parallel.Scheme = c.v, c.s
		out = append(out, e)
	}
	return out
}
