package main

import (
	"os"

	"boost-tui/experiment"
	"boost-tui/kernels/cpu"
	"boost-tui/planner"
	"boost-tui/runner"
	"boost-tui/trainer"
	"boost-tui/tui/screen/launch"
)

// prepared is an experiment that can start: resolved, valid, planned, and with data that can be read.
type prepared struct {
	experiment experiment.Experiment
	plan       *planner.Plan
	after      string // id of the run whose end it waits for; empty: none
	resumed    *runner.Resumed
}

// continued is the experiment that it goes on from; nil: it begins by itself.
func (p prepared) continued() *experiment.Experiment {
	if p.resumed == nil {
		return nil
	}
	return p.resumed.Experiment
}

// checks looks at an experiment before it starts.
type checks struct {
	store func() (*runner.Store, error)    // of the runs that it goes on from
	note  func(format string, args ...any) // says what a user had better know
}

func (a *app) checks() checks { return checks{a.store, a.note} }

// quietly are the checks of the UI, whose screen nothing else writes to.
func (a *app) quietly() checks { return checks{a.store, func(string, ...any) {}} }

// prepare checks everything that can be known before a process starts, and says what a user had better know. What it finds
// is wrong input.
func (a *app) prepare(e experiment.Experiment) (prepared, error) { return a.checks().prepare(e) }

func (c checks) prepare(e experiment.Experiment) (prepared, error) {
	if err := c.auto(&e); err != nil {
		return prepared{}, usage(err)
	}
	e, err := e.Resolve()
	if err != nil {
		return prepared{}, usage(err)
	}
	m, err := machineOf(e, "")
	if err != nil {
		return prepared{}, usage(err)
	}
	if experiment.Invalid(e.Broken(experiment.Machine{})) == nil { // what a device lacks here says more than that no GPU is there
		if err := checkDevice(e); err != nil {
			return prepared{}, usage(err)
		}
	}
	found := sayLacks(e, planner.Check(e, m))
	if err := experiment.Invalid(found); err != nil {
		return prepared{}, usage(err)
	}
	if err := runner.Furnish(&e.Where); err != nil {
		return prepared{}, usage(err)
	}
	if err := runner.CheckRun(e); err != nil {
		return prepared{}, usage(err)
	}
	if onThisMachine(e) {
		if err := runner.CheckLimits(e.World(), 0); err != nil { // before the device is opened, which says less about it
			return prepared{}, usage(err)
		}
	}
	if err := checkData(&e); err != nil {
		return prepared{}, usage(err)
	}
	if err := c.start(&e); err != nil {
		return prepared{}, usage(err)
	}
	resumed, err := c.resume(&e)
	if err != nil {
		return prepared{}, usage(err)
	}
	plan, err := planner.New(e, m)
	if err != nil {
		return prepared{}, err
	}
	if slow := slowEmulation(e, plan); slow != "" {
		c.note("note: %s", slow)
	}
	for _, v := range found {
		c.note("note: %s", v)
	}
	if tight := m.Tight(plan.NeedBytes); tight != "" && plan.Fits && plan.Fit.Of == planner.OfHost {
		c.note("note: %s", tight)
	}
	return prepared{experiment: e, plan: plan, resumed: resumed}, nil
}

// onThisMachine reports whether the ranks of an experiment run where the command does.
func onThisMachine(e experiment.Experiment) bool {
	return e.Where.Where == experiment.WhereLocal || e.Where.Where == ""
}

// checkData opens the data as a rank will, and makes its paths those that ranks in another folder know.
func checkData(e *experiment.Experiment) error {
	for _, value := range []*string{&e.Train.Data, &e.Train.EvalData} {
		if *value == "" {
			continue
		}
		if err := absoluteData(value); err != nil {
			return err
		}
	}
	t, err := trainer.OpenTraining(*e)
	if err != nil {
		return err
	}
	return t.Close()
}

// absoluteData makes the paths of data independent of the folder that they were said in.
func absoluteData(value *string) (err error) {
	if _, err := os.Lstat(*value); err == nil && *value != experiment.DataEmbedded { // one name, whatever signs are in it
		*value = experiment.FormatData([]experiment.DataPart{{Path: *value, Weight: 1}})
	}
	*value, err = experiment.AbsoluteData(*value)
	return err
}

// launchOptions are what a run's record keeps of the plan and of the program.
func (p prepared) launchOptions() (runner.LaunchOptions, error) {
	blas, err := productLibrary()
	if err != nil {
		return runner.LaunchOptions{}, err
	}
	return p.record(blas), nil
}

// record is launchOptions with the library of products that is known already.
func (p prepared) record(blas string) runner.LaunchOptions {
	return runner.LaunchOptions{
		Argv: os.Args, After: p.after, Resumed: p.resumed,
		Predicted: &runner.Predicted{MemBytes: p.plan.Memory.Total, HostBytes: p.plan.Memory.Host, CommBytesPerStep: p.plan.MostBytes,
			FLOPs: float64(p.plan.FLOPs), Parameters: p.plan.Parameters, MachineBytes: p.plan.MachineBytes},
		Versions: runner.Versions{Program: thisVersion().String(), BLAS: blas}, GPUs: cardsOf(p.experiment),
	}
}

// prepareLaunch is prepare and launchOptions for the UI.
func (a *app) prepareLaunch(e experiment.Experiment) (experiment.Experiment, runner.LaunchOptions, error) {
	p, err := a.quietly().prepare(e)
	if err != nil {
		return e, runner.LaunchOptions{}, err
	}
	o, err := p.launchOptions()
	o.Argv = launch.Command(p.experiment, p.continued()) // what starts the same again; the UI itself was started by less
	return p.experiment, o, err
}

// productLibrary names the library that ranks of this machine compute products with.
func productLibrary() (string, error) {
	dev, err := cpu.Open(cpu.Options{})
	if err != nil {
		return "", err
	}
	libraries := dev.Info().Libraries
	if err := dev.Close(); err != nil || len(libraries) == 0 {
		return "", err
	}
	return libraries[0], nil
}
