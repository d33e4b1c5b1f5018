package main

import (
	"fmt"
	"os"
	"path/filepath"

	"boost-tui/experiment"
	"boost-tui/kernels/cpu"
	"boost-tui/planner"
	"boost-tui/runner"
	"boost-tui/trainer/data"
	"boost-tui/tui/screen/launch"
)

// prepared is an experiment that can start: resolved, valid, planned, and with data that can be read.
type prepared struct {
	experiment experiment.Experiment
	plan       *planner.Plan
	after      string // id of the run whose end it waits for; empty: none
}

// prepare checks everything that can be known before a process starts, and says what a user had better know. What it finds
// is wrong input.
func (a *app) prepare(e experiment.Experiment) (prepared, error) {
	p, notes, err := check(e)
	if err != nil {
		return prepared{}, err
	}
	for _, n := range notes {
		a.note("note: %s", n)
	}
	return p, nil
}

// check is prepare without a word.
func check(e experiment.Experiment) (p prepared, notes []string, err error) {
	if e, err = e.Resolve(); err != nil {
		return prepared{}, nil, usage(err)
	}
	m := planner.ThisMachine()
	found := planner.Check(e, m)
	if err := experiment.Invalid(found); err != nil {
		return prepared{}, nil, usage(err)
	}
	if err := runner.CheckLimits(e.World(), 0); err != nil { // before the device is opened, which says less about it
		return prepared{}, nil, usage(err)
	}
	if e.Train.Data, err = checkData(e); err != nil {
		return prepared{}, nil, usage(err)
	}
	plan, err := planner.New(e, m)
	if err != nil {
		return prepared{}, nil, err
	}
	for _, v := range found {
		notes = append(notes, v.String())
	}
	if tight := m.Tight(plan.NeedBytes); tight != "" && plan.Fits {
		notes = append(notes, tight)
	}
	return prepared{experiment: e, plan: plan}, notes, nil
}

// checkData opens the data as a rank will, and gives back its path as ranks in another folder know it.
func checkData(e experiment.Experiment) (string, error) {
	path := e.Train.Data
	if path == experiment.DataEmbedded {
		return path, nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("data %s: %w", e.Train.Data, err)
	}
	s, err := data.Open(path, e.Model.Vocab, int64(e.Step.Seq)+1)
	if err != nil {
		return "", err
	}
	return path, s.Close()
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
		Argv: os.Args, After: p.after,
		Predicted: &runner.Predicted{MemBytes: p.plan.Memory.Total, CommBytesPerStep: p.plan.StepBytes,
			FLOPs: float64(p.plan.FLOPs), Parameters: p.plan.Parameters, MachineBytes: p.plan.MachineBytes},
		Versions: runner.Versions{Program: thisVersion().String(), BLAS: blas},
	}
}

// prepareLaunch is prepare and launchOptions for the UI.
func (a *app) prepareLaunch(e experiment.Experiment) (experiment.Experiment, runner.LaunchOptions, error) {
	p, err := a.prepare(e)
	if err != nil {
		return e, runner.LaunchOptions{}, err
	}
	o, err := p.launchOptions()
	o.Argv = launch.Command(p.experiment) // what starts the same again; the UI itself was started by less
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
