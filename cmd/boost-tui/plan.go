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
the model's size is used. An experiment that names no device is planned in bf16. With --resume it is what run --resume would run. One that does not fit this
machine says so and exits 0: to plan it is a fair question.`,
		Example: "  boost-tui plan --size 7b --variant cola --scheme btp --tp 4 --micro-batch 4 --seq 4096",
		RunE: func(*cobra.Command, []string) error {
			e, err := a.asked(&f)
			if err != nil {
				return err
			}
			if e, err = e.ResolveForPlan(); err != nil {
				return usage(err)
			}
			if err := experiment.Invalid(e.Validate(experiment.Machine{})); err != nil {
				return usage(err)
			}
			if err := a.begins(&e); err != nil {
				return usage(err)
			}
			m := planner.ThisMachine()
			if machine != "" {
				if m, err = machineOf(e, machine); err != nil {
					return usagef("--machine: %w", err)
				}
			}
			p, err := planner.New(e, m)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(planResult{p, e})
			}
			return a.printPlan(e, p)
		},
	}
	cmd.Flags().StringVar(&machine, "machine", "", "plan for this machine: a `NAME` that boost-tui preflight has described, or a file (default: this one)")
	f.register(cmd)
	return cmd
}

func (a *app) printPlan(e experiment.Experiment, p *planner.Plan) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	line := func(name, text string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(text, args...)) }
	line("experiment", "%s %s, %s, %s, micro-batch %d x %d, seq %d, %s", e.Model.Size, e.Model.Variant, e.Parallel.Scheme,
		e.Parallel.Degrees(), e.Step.MicroBatch, e.Step.Accumulate, e.Step.Seq, p.DType)
	line("parameters", "%s, of which %s on a rank", format.SI(float64(p.Parameters)), format.SI(float64(p.ParametersPerRank)))
	m := p.Memory
	line("memory of a rank", "%s: weights %s, gradients %s, optimizer %s, activations %s, logits %s, buffers %s", format.Bytes(m.Total),
		format.Bytes(m.Weights), format.Bytes(m.Gradients), format.Bytes(m.Optimizer), format.Bytes(m.Activations), format.Bytes(m.Logits), format.Bytes(m.Buffers))
	if m.Checkpoint > 0 {
		line("copy for checkpoints", "%s of host memory beside it", format.Bytes(m.Checkpoint))
	}
	line("fits", "%s", fits(p))
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

func fits(p *planner.Plan) string {
	answer := "yes"
	if !p.Fits {
		answer = "no"
	}
	if p.MachineBytes == 0 {
		return "unknown: this machine does not tell its memory"
	}
	return fmt.Sprintf("%s: all ranks need %s, this machine has %s", answer, format.Bytes(p.NeedBytes), format.Bytes(p.MachineBytes))
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
