package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"boost-tui/experiment"
	"boost-tui/planner"
	"boost-tui/tui/format"
)

// planResult is the JSON of `plan`: the plan, and the experiment that it is of.
type planResult struct {
	*planner.Plan
	Experiment experiment.Experiment `json:"experiment"`
}

func newPlan(a *app) *cobra.Command {
	f := experimentFlags{in: a.in}
	var machine string
	cmd := &cobra.Command{
		Use: "plan", Short: "Predict memory, communication and FLOPs of an experiment", GroupID: groupWork, Args: cobra.NoArgs,
		Long: `Predict what an experiment needs, from one recorded step of the real model: nothing is computed and no memory of
the model's size is used. An experiment that names no device is planned in bf16, as on GPUs; --device auto is
what a run here would take. With --resume it is what run --resume would run. One that does not fit the
machine, or a rank of it one GPU, says so and exits 0: to plan it is a fair question. A file for --machine is easily written by hand: boost-tui's docs/machine.toml is one.`,
		Example: "  boost-tui plan --size 7b --variant cola --scheme btp --tp 4 --micro-batch 4 --seq 4096",
		RunE: func(*cobra.Command, []string) error {
			e, err := a.asked(&f)
			if err != nil {
				return err
			}
			if machine == "" && f.namesDevice() {
				if err := a.checks().auto(&e); err != nil {
					return usage(err)
				}
			}
			m, err := machineOf(e, machine)
			if err != nil && machine != "" {
				err = fmt.Errorf("--machine: %w", err)
			}
			if err != nil {
				return usage(err)
			}
			dtype := dtypeForPlan(&e, m)
			if e, err = e.ResolveForPlan(); err != nil {
				return usage(err)
			}
			if err := experiment.Invalid(e.Validate(experiment.Machine{})); err != nil {
				return usage(err)
			}
			if err := a.begins(&e); err != nil {
				return usage(err)
			}
			p, err := planner.New(e, m)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(planResult{p, e})
			}
			return a.printPlan(e, m, dtype, p)
		},
	}
	cmd.Flags().StringVar(&machine, "machine", "", "plan for this machine: a `NAME` that boost-tui preflight has described, or a file (default: this one, and of another place the one that boost-tui preflight has found there)")
	f.register(cmd)
	return cmd
}

// dtypeForPlan decides the type of an experiment that names neither it nor a device, where the machine is known to have no GPU: run would
// take fp32 there. It returns what else is to be said of the type.
func dtypeForPlan(e *experiment.Experiment, m planner.Machine) string {
	open := e.Step.DType == "" && (e.Step.Device == "" || e.Step.Device == experiment.DeviceAuto)
	switch {
	case open && m.NoGPUs:
		e.Step.DType = experiment.FP32
		return " (as a run takes without GPUs)"
	case open && !onThisMachine(*e):
		return " (as on GPUs; a run on nodes without takes fp32: --device cpu plans that)"
	}
	return ""
}

// plannedDevice says what a plan is for: what computes decides the type of the numbers, and whose memory counts.
func plannedDevice(e experiment.Experiment, p *planner.Plan) string {
	switch d := e.Step.Device; {
	case d == experiment.DeviceEmu:
		return d + ": " + emulatedTimes
	case d != "" && d != experiment.DeviceAuto:
		return d
	case p.Fit.Of == planner.OfGPU:
		return "left open: planned for GPUs, against the memory of one; --device names another"
	case p.DType == experiment.BF16:
		return "left open: numbers as on GPUs, in the memory of the host; --device cuda, cpu, emulated or auto plans as that runs"
	}
	return "left open: planned for processors; --device names another"
}

func (a *app) printPlan(e experiment.Experiment, m planner.Machine, dtype string, p *planner.Plan) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	line := func(name, text string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(text, args...)) }
	line("experiment", "%s %s, %s, %s, micro-batch %d x %d, seq %d, %s%s", e.Model.Size, e.Model.Variant, e.Parallel.Scheme,
		e.Parallel.Degrees(), e.Step.MicroBatch, e.Step.Accumulate, e.Step.Seq, p.DType, dtype)
	line("device", "%s", plannedDevice(e, p))
	line("parameters", "%s, of which %s on a rank", format.SI(float64(p.Parameters)), format.SI(float64(p.ParametersPerRank)))
	b := p.Memory
	line("memory of a rank", "%s: weights %s, gradients %s, optimizer %s, activations %s, logits %s, buffers %s", format.Bytes(b.Total),
		format.Bytes(b.Weights), format.Bytes(b.Gradients), format.Bytes(b.Optimizer), format.Bytes(b.Activations), format.Bytes(b.Logits), format.Bytes(b.Buffers))
	if b.Checkpoint > 0 {
		line("copy for checkpoints", "%s of host memory beside it", format.Bytes(b.Checkpoint))
	}
	line("fits", "%s", fits(e, m, p))
	line("step", "%s tokens, %sFLOP of the model, %s communicated by each rank in %d calls", format.Count(p.TokensPerStep),
		format.SI(float64(p.FLOPs)), format.Bytes(p.StepBytes), p.Collectives)
	line("block", "%sFLOP of a rank, forward and backward; %s FLOP per byte", format.SI(float64(p.Block.FLOPs)), format.Digits(p.Block.ArithmeticIntensity))
	line("  forward", "%s", direction(p.Block.Forward))
	line("  backward", "%s", direction(p.Block.Backward))
	line("outside, forward", "%s", direction(p.Outside.Forward))
	line("outside, backward", "%s", direction(p.Outside.Backward))
	if r := p.Outside.Replicas; r != nil {
		line("gradients over dp", "%s", direction(*r))
	}
	if s := p.Outside.Stages; s != nil {
		line("to other stages", "%s", direction(*s))
	}
	line("optimizer", "%s", direction(p.Outside.Optimizer))
	if err := w.Flush(); err != nil {
		return err
	}
	for _, n := range p.Notes {
		if err := a.print("%s\n", n); err != nil {
			return err
		}
	}
	return nil
}

// fits says whether the plan fits, by what that is judged, and who could tell where nobody knows.
func fits(e experiment.Experiment, m planner.Machine, p *planner.Plan) string {
	f := p.Fit
	nobody := m.Cores == 0 && m.MemBytes == 0 && m.GPUs == 0 && m.GPUMemBytes == 0 && !m.NoGPUs && !onThisMachine(e)
	switch {
	case f.Verdict == planner.FitUnknown && nobody && f.Of == planner.OfGPU:
		return fmt.Sprintf("unknown: a rank allocates %s of GPU memory, and nobody has looked at the machines of --where %s yet: boost-tui preflight does, or --machine names a file that says what they have",
			format.Bytes(f.NeedBytes), e.Where.Where)
	case f.Verdict == planner.FitUnknown && nobody:
		return fmt.Sprintf("unknown: all ranks need %s, and nobody has looked at the machines of --where %s yet: boost-tui preflight does", format.Bytes(p.NeedBytes), e.Where.Where)
	case f.Of == planner.OfGPU && m.NoGPUs && onThisMachine(e):
		return f.Verdict + ": " + f.Why + "; --machine names a file that says what other machines have"
	case f.Verdict == planner.FitUnknown && f.Of == planner.OfGPU:
		return f.Verdict + ": " + f.Why + "; gpu-memory-bytes in its file says it, and boost-tui preflight --save finds it out"
	}
	return f.Verdict + ": " + f.Why
}

// plural is the word for so many.
func plural(word string, n int64) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// direction is "4 calls, 29.4 M elements (8 192 of them statistics): qkv 12.6 M, …".
func direction(d planner.Direction) string {
	if len(d.Collectives) == 0 {
		return "nothing communicated"
	}
	text := fmt.Sprintf("%d %s, %s %s", len(d.Collectives), plural("call", int64(len(d.Collectives))), format.Count(d.Elements), plural("element", d.Elements))
	if d.Statistics > 0 {
		text += fmt.Sprintf(" (%s of them statistics)", format.Count(d.Statistics))
	}
	var each []string
	for _, c := range d.Collectives {
		each = append(each, fmt.Sprintf("%s %s %s", c.Label, c.Op, format.Count(c.Elements)))
	}
	return text + ": " + strings.Join(each, ", ")
}
