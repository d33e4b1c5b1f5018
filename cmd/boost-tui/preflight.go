package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"boost-tui/experiment"
	"boost-tui/planner"
	"boost-tui/runner"
	"boost-tui/runner/protocol"
)

const (
	// preflightTime is the time limit that a job for a preflight asks for: short jobs start sooner. It includes what
	// starting takes.
	preflightTime = "5"
	// preflightName is what a preflight is called in the list of runs.
	preflightName = "preflight"
	// preflightPatience is how long after its ranks began a preflight may go on; they give up before it.
	preflightPatience = 75 * time.Second
)

// preflightResult is the JSON of `preflight`.
type preflightResult struct {
	ID      string `json:"id"`
	Dir     string `json:"dir"`
	State   string `json:"state"`
	Cause   string `json:"cause,omitempty"`
	Machine string `json:"machine,omitempty"` // file that describes the machines now
	// EmulatedDevice: rates are those of the emulated device, which say nothing about a GPU.
	EmulatedDevice bool `json:"emulated_device,omitempty"`
	protocol.Preflight
}

func newPreflight(a *app) *cobra.Command {
	f := experimentFlags{in: a.in}
	var machine, save string
	cmd := &cobra.Command{
		Use: "preflight", Short: "Look at the machines of a run for a minute before it starts", GroupID: groupWork, Args: cobra.NoArgs,
		Long: `Start on the machines that a run with the same flags would have, through the same place (this machine, ssh, Slurm), and look for at
most a minute: clocks, program and libraries, memory, GPUs, the folder of the runs as other nodes see it, the rate of matrix products, all-reduce
within and between nodes at several sizes, and reference cases on every node. Each line is a verdict: ok, slow or failed, with what to do.

Where no size is named and the degrees do not divide that of tiny, the smallest size that they divide is taken.

Rates are held against what is known of the machines: --machine, or else the file that the first sound preflight of the place left. Where nothing is known,
nodes are compared with each other. --save NAME describes the machines anew; boost-tui plan --machine NAME and runs elsewhere are judged by that.

Exits 3 when a line is not ok. The looking is a run of the store: preflight.json in its folder has all that was found.`,
		Example: "  boost-tui preflight --where slurm --nodes 4 --tp 4 --dp 4\n  boost-tui preflight --where ssh --hosts node1,node2 --tp 2 --dp 2 --save lab",
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := a.asked(&f)
			if err != nil {
				return err
			}
			s, err := a.store()
			if err != nil {
				return err
			}
			if save != "" {
				if err := planner.CheckMachineName(save); err != nil {
					return usagef("--save: %w", err)
				}
			}
			if f.shapeless() {
				a.checks().shape(&e)
			}
			p, spec, err := a.checks().preparePreflight(e, machine)
			if err != nil {
				return err
			}
			r, err := a.look(cmd.Context(), s, p, spec)
			if err != nil {
				return err
			}
			if r.Machine, err = a.remember(p.experiment, r, machine, save); err != nil {
				a.note("note: %v", err)
			}
			return a.tellPreflight(cmd.Context(), r)
		},
	}
	cmd.Flags().StringVar(&machine, "machine", "", "machine (`NAME` or file) whose rates are expected (default: the place's own, where a preflight left one)")
	cmd.Flags().StringVar(&save, "save", "", "describe the machines under this `NAME`, whatever the verdict is, in place of what was known")
	f.register(cmd)
	return cmd
}

// preparePreflight is prepare for a look at the machines: nothing of the training but its shape matters.
func (c checks) preparePreflight(e experiment.Experiment, machine string) (prepared, *protocol.PreflightSpec, error) {
	if e.Name == "" {
		e.Name = preflightName
	}
	e.Where.MaxRestarts, e.Train.Resume = 0, ""
	if e.Where.Where == experiment.WhereSlurm {
		e.Where.Time = preflightTime
	}
	p, err := c.prepare(e)
	if err != nil {
		return p, nil, err
	}
	spec := &protocol.PreflightSpec{NeedBytes: p.plan.Memory.Total, Apart: e.Where.Where == experiment.WhereSSH,
		Emulated: p.experiment.Step.Device == experiment.DeviceEmu}
	if p.experiment.Step.Device == experiment.DeviceCUDA {
		spec.NeedBytes, spec.GPUBytes, spec.GPUMargin = 0, p.plan.Memory.Total, planner.GPUMarginBytes
	}
	known := machine
	if known == "" {
		known = placeOf(p.experiment)
	}
	f, err := readMachine(known)
	switch {
	case err == nil:
		spec.Expected, spec.From = ratesOf(f), "machine "+f.Name
	case machine != "" || !errors.Is(err, fs.ErrNotExist):
		return p, nil, usage(err)
	}
	return p, spec, nil
}

// preflightOptions are launchOptions of a look at the machines.
func (p prepared) preflightOptions(spec *protocol.PreflightSpec) (runner.LaunchOptions, error) {
	o, err := p.launchOptions()
	o.Preflight = spec
	return o, err
}

// launchPreflight starts a detached look at the machines, for the UI; preflight.json in the run's folder has the result.
func (a *app) launchPreflight(ctx context.Context, s *runner.Store, e experiment.Experiment) (id string, err error) {
	p, spec, err := a.quietly().preparePreflight(e, "")
	if err != nil {
		return "", err
	}
	o, err := p.preflightOptions(spec)
	if err != nil {
		return "", err
	}
	o.Detach = true
	h, err := runner.Launch(ctx, s, p.experiment, o)
	if err != nil {
		return "", err
	}
	return h.Run.ID, nil
}

// look runs the preflight to its end. However it ends, there is something to tell.
func (a *app) look(ctx context.Context, s *runner.Store, p prepared, spec *protocol.PreflightSpec) (preflightResult, error) {
	if err := compile(ctx, p.experiment, a.note); err != nil {
		return preflightResult{}, err
	}
	o, err := p.preflightOptions(spec)
	if err != nil {
		return preflightResult{}, err
	}
	a.orderly.Store(true)
	h, err := runner.Launch(ctx, s, p.experiment, o)
	if err != nil {
		return preflightResult{}, err
	}
	a.note("preflight %s in %s", h.Run.ID, h.Dir)
	bounded, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	wg.Go(func() { boundPreflight(bounded, s, h.Run.ID, stop) })
	in, err := h.Wait(bounded)
	if err != nil {
		return preflightResult{}, err
	}
	r := preflightResult{ID: in.ID, Dir: in.Dir, State: string(in.State), Cause: in.Cause, EmulatedDevice: p.experiment.Step.Device == experiment.DeviceEmu}
	r.Preflight, err = protocol.ReadPreflight(in.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	if in.State != runner.Finished {
		r.Checks = append(r.Checks, protocol.Check{What: "run", Verdict: protocol.VerdictFailed, Found: in.Cause,
			Advice: "boost-tui show " + in.ID + " and boost-tui logs " + in.ID + " say more"})
	}
	r.Verdict = protocol.Worst(r.Checks)
	return r, nil
}

// boundPreflight ends a look that goes on for too long after its ranks began; a job may wait in a queue before for as long as it must.
func boundPreflight(ctx context.Context, s *runner.Store, id string, stop func()) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var since time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if in, err := s.Load(id); err != nil || !in.HadRanks() {
				continue
			}
			if since.IsZero() {
				since = now
			}
			if now.Sub(since) > preflightPatience {
				stop()
				return
			}
		}
	}
}

// remember describes the machines where the user wants that, or nothing was known of a place that is sound.
func (a *app) remember(e experiment.Experiment, r preflightResult, machine, save string) (path string, err error) {
	if len(r.Nodes) == 0 || r.State != string(runner.Finished) {
		return "", nil
	}
	name := save
	if name == "" {
		if machine != "" || r.Verdict != protocol.VerdictOK {
			return "", nil
		}
		name = placeOf(e)
		_, err := readMachine(name)
		if errors.Is(err, errNoConfig) {
			return "", nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return saveMachine(describeMachine(name, r.ID, e, r.Preflight))
}

// tellPreflight prints the verdicts and ends the command by the worst of them.
func (a *app) tellPreflight(ctx context.Context, r preflightResult) error {
	var err error
	if a.json {
		err = a.printJSON(r)
	} else {
		err = a.printChecks(r)
	}
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return silently(exitInterrupted, "interrupted")
	case r.Verdict != protocol.VerdictOK:
		return silently(exitCheck, "a check did not hold")
	}
	return nil
}

func (a *app) printChecks(r preflightResult) error {
	wide := 0
	for _, c := range r.Checks {
		wide = max(wide, len(c.What))
	}
	for _, c := range r.Checks {
		found := c.Found
		if c.Node != "" {
			found = c.Node + ": " + found
		}
		if c.Advice != "" {
			found += " -> " + c.Advice
		}
		// Everything here was read from the folder of the run.
		if err := a.print("%-6s  %-*s  %s\n", runner.Clean(c.Verdict), wide, runner.Clean(c.What), runner.Clean(found)); err != nil {
			return err
		}
	}
	if len(r.Nodes) == 0 {
		return a.print("%s\n", r.Verdict)
	}
	nodes := fmt.Sprintf("%d %s", len(r.Nodes), plural("node", int64(len(r.Nodes))))
	if err := a.print("%s: %s, looked at for %.0f s\n", r.Verdict, nodes, r.Seconds); err != nil {
		return err
	}
	if r.Machine != "" {
		if r.EmulatedDevice {
			return a.print("what may be counted on is in %s, without rates: %s\n", r.Machine, emulatedTimes)
		}
		return a.print("what may be counted on is in %s\n", r.Machine)
	}
	return nil
}
