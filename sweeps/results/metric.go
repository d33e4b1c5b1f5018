package results

import (
	"fmt"
	"math"
	"strings"

	"boost-tui/experiment"
	"boost-tui/profiler/compare"
)

// Metric is a figure of a row.
type Metric struct {
	Name   string // as in JSON, CSV, sort and filter: lower case; seconds and bytes unless it says otherwise
	Title  string // heads a column, with the unit in which Show writes it
	Higher bool   // larger is better
	of     func(*Row) *float64
	unit   *unit
	marks  func(*Row) Marks
}

// Of is the row's value; false: unknown.
func (m Metric) Of(r *Row) (float64, bool) {
	v := m.of(r)
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
		return 0, false
	}
	return *v, true
}

// Show writes a value in the unit of the Title.
func (m Metric) Show(v float64) string { return m.unit.show(v) }

// Marks say what to know of the row's value.
func (m Metric) Marks(r *Row) Marks { return m.marks(r) }

// Better reports whether a is better than b, by more than what counts as equal.
func (m Metric) Better(a, b float64) bool {
	if m.Higher {
		return a > b+m.unit.tie
	}
	return a < b-m.unit.tie
}

// Names of metrics that code speaks of.
const (
	StepTime     = "step_time_median"
	TimePerToken = "time_per_token"
	PeakMemory   = "peak_memory"
	Loss         = "loss_mean_last_20"
	VsFull       = "vs_full"
	VsVanilla    = "vs_vanilla"
)

// metrics in the order of columns. It is never changed.
var metrics = []Metric{
	{StepTime, "step ms", false, func(r *Row) *float64 { return r.Figures.StepTimeMedian }, inMillis, ofTime},
	{"step_time_mean", "mean ms", false, func(r *Row) *float64 { return r.Figures.StepTimeMean }, inMillis, ofTime},
	{"step_time_p95", "p95 ms", false, func(r *Row) *float64 { return r.Figures.StepTimeP95 }, inMillis, ofTime},
	{TimePerToken, "us/token", false, perToken, inMicros, ofTime},
	{"tokens_per_second", "tok/s", true, func(r *Row) *float64 { return r.Figures.TokensPerSecond }, inTokens, ofTime},
	{VsFull, "vs full", true, func(r *Row) *float64 { return r.VsFull.ratio() }, inTimes, func(r *Row) Marks { return r.VsFull.marks() }},
	{VsVanilla, "vs vanilla", true, func(r *Row) *float64 { return r.VsVanilla.ratio() }, inTimes, func(r *Row) Marks { return r.VsVanilla.marks() }},
	{"loss_first", "first loss", false, func(r *Row) *float64 { return r.Figures.LossFirst }, inNats, ofWork},
	{"loss_last", "loss", false, func(r *Row) *float64 { return r.Figures.LossLast }, inNats, ofWork},
	{Loss, "loss, last 20", false, func(r *Row) *float64 { return r.Figures.LossMeanLast20 }, inNats, ofWork},
	{PeakMemory, "device MiB", false, func(r *Row) *float64 { return count(r.Figures.PeakMemory) }, inMebi, ofWork},
	{"resident_memory", "resident MiB", false, func(r *Row) *float64 { return count(r.Figures.ResidentMemory) }, inMebi, ofWork},
	{"comm_bytes_per_step", "comm MiB", false, func(r *Row) *float64 { return count(r.Figures.CommBytesPerStep) }, inMebi, ofWork},
	{"comm_calls_per_step", "calls", false, func(r *Row) *float64 { return count(r.Figures.CommCallsPerStep) }, inWhole, ofWork},
	{"compute", "compute ms", false, part(func(b *compare.Breakdown) *float64 { return b.Compute }), inMillis, ofTime},
	{"comm", "comm ms", false, part(func(b *compare.Breakdown) *float64 { return b.Comm }), inMillis, ofTime},
	{"comm_exposed", "exposed ms", false, part(func(b *compare.Breakdown) *float64 { return b.CommExposed }), inMillis, ofTime},
	{"comm_wait", "wait ms", false, part(func(b *compare.Breakdown) *float64 { return b.CommWait }), inMillis, ofTime},
	{"comm_transfer", "transfer ms", false, part(func(b *compare.Breakdown) *float64 { return b.CommTransfer }), inMillis, ofTime},
	{"overlap", "overlap ms", true, part(func(b *compare.Breakdown) *float64 { return b.Overlap }), inMillis, ofTime},
	{"memory", "memory ms", false, part(func(b *compare.Breakdown) *float64 { return b.Memory }), inMillis, ofTime},
	{"idle", "idle ms", false, part(func(b *compare.Breakdown) *float64 { return b.Idle }), inMillis, ofTime},
	{"flops_per_second", "GFLOP/s", true, func(r *Row) *float64 { return r.Figures.FLOPsPerSecond }, inGiga, ofTime},
	{"step_time_predicted", "predicted ms", false, func(r *Row) *float64 { return r.Figures.StepTimePlanned }, inMillis, ofPlan},
	{"seconds", "ran s", false, func(r *Row) *float64 { return positive(r.Seconds) }, inSeconds, ofTime},
	{"steps_done", "steps", true, func(r *Row) *float64 { return stepsDone(r) }, inWhole, ofWork},
	{"kept", "n", true, func(r *Row) *float64 { return kept(r) }, inWhole, ofWork},
	{"attempts", "attempts", false, func(r *Row) *float64 { return positive(float64(r.Attempts)) }, inWhole, ofPlan},
}

// Metrics lists the figures that tables, heat maps and exports have, in the order of their columns.
func Metrics() []Metric { return append([]Metric(nil), metrics...) }

// MetricOf finds a metric by its name or its title. The error lists the names.
func MetricOf(name string) (Metric, error) {
	m := metricNamed(name)
	if m == nil {
		m = metricTitled(name)
	}
	if m != nil {
		return *m, nil
	}
	names := make([]string, len(metrics))
	for i, m := range metrics {
		names[i] = m.Name
	}
	return Metric{}, fmt.Errorf("%q is no metric; there are %s, or what heads their columns", name, strings.Join(names, ", "))
}

// metricNamed finds a metric, for whoever goes on without; nil: there is none.
func metricNamed(name string) *Metric {
	for i := range metrics {
		if metrics[i].Name == name {
			return &metrics[i]
		}
	}
	return nil
}

// metricTitled finds a metric by what heads its column, whatever the case. What is a key of the experiment too is the key.
func metricTitled(title string) *Metric {
	if _, isKey := experiment.KeyOf(title); isKey {
		return nil
	}
	title = strings.Join(strings.Fields(title), " ")
	for i := range metrics {
		if strings.EqualFold(metrics[i].Title, title) {
			return &metrics[i]
		}
	}
	return nil
}

// unitOf is what a number counts that stands beside a metric's name or title: titles say their unit.
func unitOf(name string) float64 {
	if metricNamed(name) == nil {
		if m := metricTitled(name); m != nil {
			return m.unit.scale
		}
	}
	return 1
}

func perToken(r *Row) *float64 {
	if r.Figures.StepTimeMedian == nil || r.Tokens <= 0 {
		return nil
	}
	v := *r.Figures.StepTimeMedian / float64(r.Tokens)
	return &v
}

func (v *Versus) ratio() *float64 {
	if v == nil {
		return nil
	}
	return &v.Ratio
}

func part(of func(*compare.Breakdown) *float64) func(*Row) *float64 {
	return func(r *Row) *float64 {
		if r.Figures.Breakdown == nil {
			return nil
		}
		return of(r.Figures.Breakdown)
	}
}

func count(n *int64) *float64 {
	if n == nil {
		return nil
	}
	v := float64(*n)
	return &v
}

func positive(v float64) *float64 {
	if v <= 0 {
		return nil
	}
	return &v
}

func stepsDone(r *Row) *float64 { return ofRun(r, r.Figures.Steps) }

func kept(r *Row) *float64 { return ofRun(r, r.Figures.Kept) }

// ofRun is a count that is known, also where it is 0, once the run was read.
func ofRun(r *Row, n int) *float64 {
	if r.Figures.ID == "" {
		return nil
	}
	v := float64(n)
	return &v
}
