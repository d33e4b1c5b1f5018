package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"boost-tui/experiment"
	"boost-tui/profiler/record"
	"boost-tui/runner"
	"boost-tui/runner/protocol"
	"boost-tui/tui/format"
)

// showView is the JSON of `show`: the run, what it was asked to do, and how each rank ended.
type showView struct {
	runView
	Experiment experiment.Experiment `json:"experiment"`
	Predicted  *runner.Predicted     `json:"predicted,omitempty"`
	Versions   runner.Versions       `json:"versions"`
	Hosts      []string              `json:"hosts"`
	Argv       []string              `json:"argv,omitempty"`  // what started it
	Command    []string              `json:"command"`         // what starts the same again
	After      string                `json:"after,omitempty"` // run whose end it waits or waited for
	Resumed    *runner.Resumed       `json:"resumed,omitempty"`
	Evaluation *record.Evaluation    `json:"evaluation,omitempty"` // the last one
	Job        *runner.JobView       `json:"job,omitempty"`        // of a scheduler; once it is over, its number alone
	Ranks      []protocol.ExitRecord `json:"ranks"`
	Summary    json.RawMessage       `json:"summary,omitempty"`
	began      time.Time
	tookWhy    string // why nobody knows how long it took
}

func newShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "show RUN", Short: "Show what a run is and how it ended", GroupID: groupStore,
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeOneRun,
		RunE: func(_ *cobra.Command, args []string) error {
			_, in, err := a.findReadable(args[0])
			if err != nil {
				return err
			}
			v := showView{runView: viewOf(in), Experiment: in.Run.Experiment, Predicted: in.Run.Predicted, Versions: in.Run.Versions,
				Hosts: in.HostNames(), Argv: in.Run.Argv, Command: in.Run.Command(),
				After: in.Run.After, Resumed: in.Run.Resumed, Evaluation: a.lastEvaluation(in.Dir), Job: in.JobAtAnyTime(time.Now()), Ranks: []protocol.ExitRecord{}, began: in.Began()}
			_, v.tookWhy = in.Took(in.Clock(time.Now()))
			if in.Result != nil {
				v.Summary = in.Result.Summary
			}
			exits, err := runner.Exits(in.Dir)
			if err != nil {
				a.note("%v", err)
			}
			v.Ranks = append(v.Ranks, exits...)
			if a.json {
				return a.printJSON(v)
			}
			return a.printShow(v)
		},
	}
}

func (a *app) printShow(v showView) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%s\t%s\n", name, runner.Clean(value))
		}
	}
	line("run", v.ID)
	line("name", v.Name)
	line("state", v.State)
	line("cause", v.Cause)
	if v.Job != nil {
		line("job", v.Job.String())
	}
	line("after", v.After)
	if r := v.Restart; r != nil {
		line("restarts", fmt.Sprintf("%s (restart %d of %d)", r.Of, r.Number, v.Experiment.Where.MaxRestarts))
	}
	line("goes on as", v.RestartedAs)
	if r := v.Resumed; r != nil {
		line("resumes", fmt.Sprintf("%s after step %d", r.Run, r.Step))
	}
	if v.Sweep != nil {
		line("sweep", fmt.Sprintf("%s, point %s, attempt %d", v.Sweep.ID, v.Sweep.Point, v.Sweep.Attempt))
	}
	line("what", fmt.Sprintf("%s %s, %s, %s", v.Size, v.Variant, v.Scheme, v.Experiment.Parallel.Degrees()))
	line(experiment.EmulatedLink, v.Experiment.Parallel.Link)
	if v.Experiment.Emulated() == experiment.EmulatedDevice {
		line(experiment.EmulatedDevice, emulatedTimes)
	}
	if v.Step != nil {
		at := fmt.Sprintf("%d of %d", *v.Step, v.Steps)
		if v.Loss != nil {
			at += fmt.Sprintf(", loss %.4f", *v.Loss)
		}
		line("step", at)
	}
	if e := v.Evaluation; e != nil {
		line("evaluation", fmt.Sprintf("loss %.4f, perplexity %.3f, after step %d", e.Loss, e.Perplexity(), e.Step))
	}
	line("started", v.began.Local().Format(time.DateTime))
	if v.Ended != nil {
		after := "how long it took is unknown: " + v.tookWhy
		if v.Took != nil {
			after = "after " + format.Duration(time.Duration(*v.Took*float64(time.Second)))
		}
		line("ended", v.Ended.Local().Format(time.DateTime)+", "+after)
	}
	if p := v.Predicted; p != nil {
		line("planned", fmt.Sprintf("%s parameters, %s per rank, %s communicated per step by the rank with the most",
			format.SI(float64(p.Parameters)), format.Bytes(p.MemBytes), format.Bytes(p.CommBytesPerStep)))
	}
	if d := v.Experiment.Step.Device; d == experiment.DeviceCPU || d == "" { // others have products of their own
		line("blas", v.Versions.BLAS)
	}
	line("hosts", strings.Join(v.Hosts, ", "))
	line("owner", v.Owner)
	if v.Archived {
		line("archived", "runs --archived lists it")
	}
	line("tags", strings.Join(v.Tags, ", "))
	line("note", v.Note)
	line("command", format.Shell(v.Command))
	line("folder", v.Dir)
	if err := w.Flush(); err != nil {
		return err
	}
	for _, e := range v.Ranks {
		if e.OK() {
			continue
		}
		how := howEnded(v.State, e)
		if e.Cause != "" {
			how += ": " + e.Cause
		}
		if err := a.print("\nrank %d: %s\n", e.Rank, runner.Clean(how)); err != nil {
			return err
		}
		if e.Step > 0 || e.Operation != "" {
			if err := a.print("  at step %d, %s\n", e.Step, runner.Clean(e.Operation)); err != nil {
				return err
			}
		}
		for _, l := range e.LogTail {
			if err := a.print("  | %s\n", runner.Clean(l)); err != nil {
				return err
			}
		}
	}
	return nil
}

// howEnded says how a rank ended that did not end well: of a run that was cancelled, one that stopped as it was told to
// did not fail.
func howEnded(state string, e protocol.ExitRecord) string {
	switch {
	case e.Signal != "":
		return e.Signal
	case state == string(runner.Cancelled) && e.Code == protocol.CodeCancelled:
		return "cancelled"
	}
	return fmt.Sprintf("exit code %d", e.Code)
}
