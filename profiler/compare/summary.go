package compare

import (
	"context"
	"math"

	"boost-tui/experiment"
	"boost-tui/profiler/record"
	"boost-tui/profiler/stats"
)

// Breakdown is the mean over kept steps and ranks, in seconds (DESIGN.md): compute + comm_exposed +
// memory + idle is the mean step, comm = comm_wait + comm_transfer = comm_exposed + overlap. nil: unknown.
type Breakdown struct {
	Compute      *float64 `json:"compute,omitempty"`
	Comm         *float64 `json:"comm,omitempty"`
	CommExposed  *float64 `json:"comm_exposed,omitempty"`
	CommWait     *float64 `json:"comm_wait,omitempty"`
	PipelineWait *float64 `json:"pipeline_wait,omitempty"` // part of comm_exposed and comm_wait: waiting for another stage while nothing else runs
	CommTransfer *float64 `json:"comm_transfer,omitempty"`
	Overlap      *float64 `json:"overlap,omitempty"` // of compute and communication, a part of both
	Memory       *float64 `json:"memory,omitempty"`
	Idle         *float64 `json:"idle,omitempty"`
}

// Summary is one run in figures: DESIGN.md's `run` object. Times are in seconds, sizes in bytes; nil is unknown.
type Summary struct {
	ID               string     `json:"id"`
	ClaimedID        string     `json:"claimed_id,omitempty"` // that of run.json, where the folder has another name
	Name             string     `json:"name,omitempty"`
	State            string     `json:"state,omitempty"` // of result.json; whoever knows processes fills in the rest
	Cause            string     `json:"cause,omitempty"`
	Variant          string     `json:"variant,omitempty"`
	Scheme           string     `json:"scheme,omitempty"`
	TP               int        `json:"tp,omitempty"`
	EmulatedLink     string     `json:"emulated_link,omitempty"`   // that messages were slowed down to: its times are marked wherever they are shown
	EmulatedDevice   bool       `json:"emulated_device,omitempty"` // it ran on: its times are marked likewise, and have no verdict
	Device           string     `json:"device,omitempty"`
	DType            string     `json:"dtype,omitempty"`
	Ranks            int        `json:"ranks,omitempty"`
	Steps            int        `json:"steps"`                    // that every rank completed
	StepsLeftOut     int        `json:"steps_left_out,omitempty"` // of them: their loss or gradient norm was not finite, and no update was made
	LossFirst        *float64   `json:"loss_first,omitempty"`
	LossLast         *float64   `json:"loss_last"` // of the last step: null where that is not finite
	LossMeanLast20   *float64   `json:"loss_mean_last_20,omitempty"`
	StepTimeMedian   *float64   `json:"step_time_median,omitempty"`
	StepTimeCI       []float64  `json:"step_time_ci,omitempty"`
	StepTimeMean     *float64   `json:"step_time_mean,omitempty"`
	StepTimeP95      *float64   `json:"step_time_p95,omitempty"`
	TokensPerSecond  *float64   `json:"tokens_per_second,omitempty"`
	Breakdown        *Breakdown `json:"breakdown,omitempty"`
	CommBytesPerStep *int64     `json:"comm_bytes_per_step,omitempty"` // payload per rank
	CommCallsPerStep *int64     `json:"comm_calls_per_step,omitempty"`
	PeakMemory       *int64     `json:"peak_memory,omitempty"`     // allocated on the device by the rank with the most
	ResidentMemory   *int64     `json:"resident_memory,omitempty"` // of the largest rank's process, by the last samples taken while it trained
	FLOPsPerSecond   *float64   `json:"flops_per_second,omitempty"`
	MFU              *float64   `json:"mfu,omitempty"` // of the cards' peak in bf16; absent for cards that are not known, and other types
	StepTimePlanned  *float64   `json:"step_time_predicted,omitempty"`
	Kept             int        `json:"kept"` // steps that the figures rest on
	Skipped          int        `json:"skipped"`
	SkipRule         string     `json:"skip_rule,omitempty"`
	Short            bool       `json:"short"` // too short for the skip rule: no verdict
	UnreadableLines  int        `json:"unreadable_lines,omitempty"`
}

// SchemeText is the scheme as tables name it, with the mark of an emulated link or device.
func (s *Summary) SchemeText() string {
	if mark := s.EmulatedMark(); mark != "" {
		return plain(s.Scheme) + " (" + mark + ")"
	}
	return plain(s.Scheme)
}

// EmulatedMark is how the run's times are marked; empty: they are the machine's.
func (s *Summary) EmulatedMark() string { return experiment.EmulatedMark(s.Device, s.EmulatedLink) }

// Summarize reads a run. A run that has no steps yet has a summary without figures.
func Summarize(dir string) (Summary, error) { return SummarizeContext(context.Background(), dir) }

// SummarizeContext is Summarize that can be broken off: a run of millions of steps takes a while.
func SummarizeContext(ctx context.Context, dir string) (Summary, error) {
	l, err := load(ctx, dir)
	if err != nil {
		return Summary{}, err
	}
	return l.summary, nil
}

// loaded is a run with its steps.
type loaded struct {
	run     Run
	m       *measured
	summary Summary
	median  stats.Interval
	like    likeness
	// overlapped are the ids of runs of the same host that ran meanwhile.
	overlapped []string
	// unseen are those of which nobody can tell, because their steps cannot be read.
	unseen  []string
	partial bool // whoever compares says that it has not done all of its work
}

func load(ctx context.Context, dir string) (*loaded, error) {
	if err := checkDir(dir); err != nil {
		return nil, err
	}
	run, err := ReadRun(dir)
	if err != nil {
		return nil, err
	}
	res, err := readResult(dir)
	if err != nil {
		return nil, err
	}
	m, err := measure(ctx, dir)
	if err != nil {
		return nil, err
	}
	l := &loaded{run: run, m: m, median: stats.Median(m.kept), like: likenessOf(&run)}
	l.summary = l.summarize(res)
	return l, nil
}

func (l *loaded) summarize(res result) Summary {
	m, r := l.m, &l.run
	s := Summary{ID: r.ID, ClaimedID: r.Claimed, Name: r.Name, State: res.State, Cause: res.Cause, Variant: r.Plan.Variant, Scheme: r.Plan.Scheme,
		TP: r.Plan.TP, EmulatedLink: r.Plan.Link, EmulatedDevice: r.Plan.Device == experiment.DeviceEmu, Device: r.Plan.Device, DType: r.Plan.DType, Ranks: m.ranks, Steps: m.steps, Kept: len(m.kept), Skipped: m.skip.Steps, SkipRule: m.skip.Rule,
		Short: m.skip.Short, UnreadableLines: m.badLines}
	s.StepsLeftOut, s.LossFirst = m.leftOut, known(m.lossFirst)
	if n := len(m.losses); n > 0 {
		s.LossLast, s.LossMeanLast20 = known(m.losses[n-1]), known(stats.Mean(m.losses))
	}
	s.StepTimeMedian = known(l.median.Value)
	s.StepTimeCI = pair(l.median.Lo, l.median.Hi)
	if len(m.kept) > 0 {
		s.StepTimeMean, s.StepTimeP95 = known(stats.Mean(m.kept)), known(stats.Percentile(m.kept, 0.95))
	}
	if m.haveTokens && m.keptWall > 0 {
		s.TokensPerSecond = known(m.tokens * float64(max(1, r.Plan.DP)) / m.keptWall)
	}
	s.Breakdown = m.breakdown()
	s.CommBytesPerStep, s.CommCallsPerStep = whole(m.commBytes), whole(m.calls)
	if m.peakBytes >= 0 {
		s.PeakMemory = &m.peakBytes
	}
	s.ResidentMemory = m.resident(r.Dir)
	if f := r.Predicted.FLOPs; f > 0 && s.StepTimeMean != nil {
		s.FLOPsPerSecond = known(f / *s.StepTimeMean)
		if peak := r.PeakFLOPS(); peak > 0 {
			s.MFU = known(*s.FLOPsPerSecond / peak)
		}
	}
	if p := r.Predicted.StepSeconds; p > 0 {
		s.StepTimePlanned = known(p)
	}
	return s
}

// resident is the largest resident size among the last samples of each host's ranks that were taken while they
// trained; nil: no rank has samplesToTrust of them. A rank's size hardly changes once its first steps are done, but
// before them it says nothing.
func (m *measured) resident(dir string) *int64 {
	const tail = 128 << 10
	hosts, err := record.HealthHosts(dir)
	if err != nil {
		return nil
	}
	largest := int64(record.Unknown)
	for _, h := range hosts {
		lines, err := record.LastHealth(record.HealthPath(dir, h), tail)
		if err != nil {
			continue
		}
		samples := map[int64]int{} // of a rank
		for _, l := range lines {
			if l.Kind != record.KindCPU || l.RSSBytes < 0 || l.TSNanos < m.from || l.TSNanos > m.to {
				continue
			}
			if samples[l.Rank]++; samples[l.Rank] >= samplesToTrust {
				largest = max(largest, l.RSSBytes)
			}
		}
	}
	if largest < 0 {
		return nil
	}
	return &largest
}

// samplesToTrust is how many samples of a rank a size needs: the first may have caught it while it allocated.
const samplesToTrust = 2

func (m *measured) breakdown() *Breakdown {
	if math.IsNaN(m.wallMean) {
		return nil
	}
	b := &Breakdown{Compute: known(m.mean.compute), Comm: known(m.mean.comm), CommExposed: known(m.mean.exposed), Overlap: known(m.mean.overlap),
		Memory: known(m.mean.mem), Idle: known(m.mean.idle)}
	if !math.IsNaN(m.mean.wait) {
		b.CommWait, b.CommTransfer = known(m.mean.wait), known(m.mean.comm-m.mean.wait)
	}
	b.PipelineWait = known(m.mean.bubble)
	return b
}

// known is nil for what JSON cannot say.
func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func whole(v float64) *int64 {
	if math.IsNaN(v) {
		return nil
	}
	n := int64(math.Round(v))
	return &n
}

func pair(lo, hi float64) []float64 {
	if math.IsNaN(lo) || math.IsNaN(hi) {
		return nil
	}
	return []float64{lo, hi}
}
