package main

import (
	"fmt"
	"text/tabwriter"

	"boost-tui/experiment"
	"boost-tui/profiler/record"
	"boost-tui/runner"
	"boost-tui/tui/format"
)

// emulatedTimes says what times on the emulated device are.
const emulatedTimes = "the processor runs the CUDA kernels thread by thread: times say nothing about a GPU"

// printResult prints how a run ended, for people. What is unknown has no line.
func (a *app) printResult(r runResult) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	line := func(name, text string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(text, args...)) }
	line("run", "%s", r.ID)
	line("state", "%s", r.State)
	if r.Cause != "" {
		line("cause", "%s", runner.Clean(r.Cause))
	}
	if r.EmulatedLink != "" {
		line(experiment.EmulatedLink, "%s: the times are not this machine's", runner.Clean(r.EmulatedLink))
	}
	if r.EmulatedDevice {
		line(experiment.EmulatedDevice, emulatedTimes)
	}
	line("steps", "%d", r.Steps)
	if r.StepsLeftOut > 0 {
		line("left out", "%d of %d updates: their loss or gradient norm was not finite", r.StepsLeftOut, r.Steps)
	}
	if r.LossFirst != nil {
		last := "the last is not finite"
		if r.LossLast != nil {
			last = fmt.Sprintf("%.4f last", *r.LossLast)
		}
		text := fmt.Sprintf("%.4f first, %s", *r.LossFirst, last)
		if r.LossMeanLast20 != nil {
			text += fmt.Sprintf(", %.4f mean of the last 20", *r.LossMeanLast20)
		}
		line("loss", "%s", text)
	}
	if v := r.Evaluation; v != nil {
		line("evaluation", "loss %.4f, perplexity %.3f, after step %d", v.Loss, v.Perplexity(), v.Step)
	}
	if r.StepTimeMedian != nil {
		text := format.Millis(*r.StepTimeMedian) + " ms median"
		if len(r.StepTimeCI) == 2 {
			text += fmt.Sprintf(" [%s, %s]", format.Millis(r.StepTimeCI[0]), format.Millis(r.StepTimeCI[1]))
		}
		text += fmt.Sprintf(" over %d steps (%s)", r.Kept, r.SkipRule)
		line("step time", "%s", text)
	}
	if r.TokensPerSecond != nil {
		line("tokens", "%s per second, mean", format.Rate(*r.TokensPerSecond))
	}
	if b := r.Breakdown; b != nil {
		line("breakdown", "compute %s, exposed communication %s, memory %s, idle %s ms", millis(b.Compute), millis(b.CommExposed), millis(b.Memory), millis(b.Idle))
		if b.PipelineWait != nil && *b.PipelineWait > 0 {
			line("pipeline", "%s ms of the exposed communication waited for another stage", millis(b.PipelineWait))
		}
		line("communication", "%s ms: wait %s, transfer %s; overlapped %s", millis(b.Comm), millis(b.CommWait), millis(b.CommTransfer), millis(b.Overlap))
	}
	if r.CommBytesPerStep != nil {
		line("communicated", "%s per rank and step", format.Bytes(*r.CommBytesPerStep))
	}
	if r.PeakMemory != nil {
		line("peak memory", "%s allocated on a rank's device", format.Bytes(*r.PeakMemory))
	}
	if r.ResidentMemory != nil {
		line("resident", "%s of a rank's process", format.Bytes(*r.ResidentMemory))
	}
	line("folder", "%s", r.Dir)
	return w.Flush()
}

// lastEvaluation is the latest of a run; nil where there is none.
func (a *app) lastEvaluation(dir string) *record.Evaluation {
	list, err := record.Evaluations(dir)
	if err != nil {
		a.note("%v", err)
	}
	if len(list) == 0 {
		return nil
	}
	return &list[len(list)-1]
}

// millis is a time of a breakdown; "?" when it is unknown.
func millis(seconds *float64) string {
	if seconds == nil {
		return "?"
	}
	return format.Millis(*seconds)
}
