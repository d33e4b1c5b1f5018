package results

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"boost-tui/profiler/compare"
)

// Metric is a figure of a row.
type Metric struct {
	Name   string // as in JSON, CSV, sort and filter: lower case; seconds and bytes unless it says otherwise
	Title  string // heads a column, with the unit in which Show writes it
	Higher bool   // larger is better
	of     func(*Row) *float64
	show   func(float64) string
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
func (m Metric) Show(v float64) string { return m.show(v) }

// Better reports whether a is better than b.
func (m Metric) Better(a, b float64) bool {
	if m.Higher {
		return a > b
	}
	return a < b
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
	{StepTime, "step ms", false, func(r *Row) *float64 { return r.Figures.StepTimeMedian }, millis},
	{"step_time_mean", "mean ms", false, func(r *Row) *float64 { return r.Figures.StepTimeMean }, millis},
	{"step_time_p95", "p95 ms", false, func(r *Row) *float64 { return r.Figures.StepTimeP95 }, millis},
	{TimePerToken, "us/token", false, perToken, func(v float64) string { return digits(v * 1e6) }},
	{"tokens_per_second", "tok/s", true, func(r *Row) *float64 { return r.Figures.TokensPerSecond }, grouped},
	{VsFull, "vs full", true, func(r *Row) *float64 { return r.VsFull.ratio() }, times},
	{VsVanilla, "vs vanilla", true, func(r *Row) *float64 { return r.VsVanilla.ratio() }, times},
	{"loss_first", "first loss", false, func(r *Row) *float64 { return r.Figures.LossFirst }, nats},
	{"loss_last", "loss", false, func(r *Row) *float64 { return r.Figures.LossLast }, nats},
	{Loss, "loss, last 20", false, func(r *Row) *float64 { return r.Figures.LossMeanLast20 }, nats},
	{PeakMemory, "device MiB", false, func(r *Row) *float64 { return count(r.Figures.PeakMemory) }, mebi},
	{"resident_memory", "resident MiB", false, func(r *Row) *float64 { return count(r.Figures.ResidentMemory) }, mebi},
	{"comm_bytes_per_step", "comm MiB", false, func(r *Row) *float64 { return count(r.Figures.CommBytesPerStep) }, mebi},
	{"comm_calls_per_step", "calls", false, func(r *Row) *float64 { return count(r.Figures.CommCallsPerStep) }, whole},
	{"compute", "compute ms", false, part(func(b *compare.Breakdown) *float64 { return b.Compute }), millis},
	{"comm", "comm ms", false, part(func(b *compare.Breakdown) *float64 { return b.Comm }), millis},
	{"comm_exposed", "exposed ms", false, part(func(b *compare.Breakdown) *float64 { return b.CommExposed }), millis},
	{"comm_wait", "wait ms", false, part(func(b *compare.Breakdown) *float64 { return b.CommWait }), millis},
	{"comm_transfer", "transfer ms", false, part(func(b *compare.Breakdown) *float64 { return b.CommTransfer }), millis},
	{"overlap", "overlap ms", true, part(func(b *compare.Breakdown) *float64 { return b.Overlap }), millis},
	{"memory", "memory ms", false, part(func(b *compare.Breakdown) *float64 { return b.Memory }), millis},
	{"idle", "idle ms", false, part(func(b *compare.Breakdown) *float64 { return b.Idle }), millis},
	{"flops_per_second", "GFLOP/s", true, func(r *Row) *float64 { return r.Figures.FLOPsPerSecond }, func(v float64) string { return digits(v / 1e9) }},
	{"step_time_predicted", "predicted ms", false, func(r *Row) *float64 { return r.Figures.StepTimePlanned }, millis},
	{"seconds", "ran s", false, func(r *Row) *float64 { return positive(r.Seconds) }, digits},
	{"steps_done", "steps", true, func(r *Row) *float64 { return stepsDone(r) }, whole},
	{"kept", "n", true, func(r *Row) *float64 { return kept(r) }, whole},
	{"attempts", "attempts", false, func(r *Row) *float64 { return positive(float64(r.Attempts)) }, whole},
}

// Metrics lists the figures that tables, heat maps and exports have, in the order of their columns.
func Metrics() []Metric { return append([]Metric(nil), metrics...) }

// MetricOf finds a metric. The error lists them.
func MetricOf(name string) (Metric, error) {
	if m := metricNamed(name); m != nil {
		return *m, nil
	}
	names := make([]string, len(metrics))
	for i, m := range metrics {
		names[i] = m.Name
	}
	return Metric{}, fmt.Errorf("%q is no metric; there are %s", name, strings.Join(names, ", "))
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

const unknown = "–"

func millis(v float64) string { return digits(v * 1e3) }

func times(v float64) string { return fmt.Sprintf("%.2fx", v) }

func nats(v float64) string { return strconv.FormatFloat(v, 'f', 4, 64) }

func mebi(v float64) string { return strconv.FormatFloat(v/(1<<20), 'f', 1, 64) }

func whole(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }

// digits keeps about four of them.
func digits(v float64) string {
	switch a := math.Abs(v); {
	case a >= 1000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 1 || a == 0:
		return strconv.FormatFloat(v, 'f', 2, 64)
	default:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
}

// grouped is a whole number in groups of three: "24 772".
func grouped(v float64) string {
	s := strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}
