package export

import (
	"cmp"
	"context"
	"io"
	"math"
	"slices"

	"boost-tui/kernels"
	"boost-tui/profiler"
	"boost-tui/profiler/interval"
	"boost-tui/profiler/record"
	"boost-tui/profiler/stats"
)

const (
	collectivesHead = "run,op,group,size_b,n,count,p50_us,p95_us,wait_p50_us,transfer_p50_us,algbw_gbs,busbw_gbs,exposed_pct," +
		"mean_us,wait_mean_us,transfer_mean_us,first_end_p50_us,emulated_link,emulated_device"
	ranksHead = "run,rank,host,gpu,step_p50_s,compute_p50_s,lateness_pct,late_share,power_w,sm_mhz,reasons,emulated_link,emulated_device"
	// maxSampled is how many sampled steps, from the last, the collectives' figures rest on.
	maxSampled = 2000
)

// kind of a collective: those of one kind are one row.
type kind struct {
	op, group string
	bytes     int64
}

// figures of a kind, in microseconds. Durations, waits and transfers have one value per rank and collective.
type figures struct {
	n              int // ranks
	count          int // collectives, however many ranks took part
	dur            []float64
	wait, transfer []float64
	parted         float64   // sum of the durations that wait and transfer are known of
	firstEnd       []float64 // from the last arrival to the first rank's end; one value per collective
	exposed, total float64
}

// writeCollectives is collectives.csv, from the sampled steps. A rank's duration is its wait and its transfer,
// as in the breakdown: the wait is what its device measured, else the time until the last rank's arrival.
// Medians of the parts need not add up to the median of the whole; the means do. Bandwidths rest on
// first_end (PROFILING.md §5): what a rank's transfer has beyond it is its own lateness in noticing the end.
func writeCollectives(ctx context.Context, w io.Writer, runs []*run) error {
	t := newTable(w, collectivesHead)
	for _, r := range runs {
		all := map[kind]*figures{}
		err := lastSampled(ctx, r.Dir, maxSampled, func(_ int, ranks []profiler.RankSpans) error {
			addSpans(all, ranks)
			addMatched(all, profiler.Match(ranks))
			return nil
		})
		if err != nil {
			return err
		}
		for _, k := range sortedKinds(all) {
			f := all[k]
			if f.n == 0 { // seen on one rank alone
				f.n = max(1, r.Plan.TP)
			}
			first := stats.Percentile(f.firstEnd, 0.5)
			alg := float64(k.bytes) / (first * 1e-6) / 1e9
			t.text(r.ID, k.op, k.group).int(k.bytes, int64(f.n), int64(f.count))
			t.float(stats.Percentile(f.dur, 0.5), stats.Percentile(f.dur, 0.95), stats.Percentile(f.wait, 0.5), stats.Percentile(f.transfer, 0.5),
				alg, alg*profiler.BusFactor(k.op, f.n), 100*f.exposed/f.total, f.parted/float64(len(f.wait)), stats.Mean(f.wait), stats.Mean(f.transfer), first).text(r.Plan.Link, r.emulatedDevice())
			if err := t.end(); err != nil {
				return err
			}
		}
	}
	return t.close()
}

// addSpans counts collectives and durations, and how much of them no compute hid.
func addSpans(all map[kind]*figures, ranks []profiler.RankSpans) {
	type call struct {
		group, op string
		seq       int
	}
	counted := map[call]bool{}
	for _, rs := range ranks {
		var compute []interval.Interval
		for i := range rs.Spans {
			if s := &rs.Spans[i]; s.Class == kernels.Compute {
				compute = append(compute, interval.Interval{Lo: s.StartNanos, Hi: s.EndNanos()})
			}
		}
		compute = interval.Union(compute)
		for i := range rs.Spans {
			s := &rs.Spans[i]
			if s.Class != kernels.Communication {
				continue
			}
			k := kind{s.Op, record.FlowOf(s.Group).Axis, s.Bytes}
			f := all[k]
			if f == nil {
				f = &figures{}
				all[k] = f
			}
			if c := (call{s.Group, s.Op, s.Seq}); !counted[c] {
				counted[c] = true
				f.count++
			}
			f.dur = append(f.dur, micros(s.DurNanos))
			f.total += micros(s.DurNanos)
			f.exposed += micros(s.DurNanos - hidden(compute, s))
			if len(ranks) == 1 && s.WaitNanos >= 0 {
				f.part(s.DurNanos, s.WaitNanos)
				f.firstEnd = append(f.firstEnd, micros(s.DurNanos-s.WaitNanos))
			}
		}
	}
}

// hidden is how long compute ran beside a span.
func hidden(compute []interval.Interval, s *record.Span) int64 {
	i, _ := slices.BinarySearchFunc(compute, s.StartNanos, func(v interval.Interval, at int64) int { return cmp.Compare(v.Hi, at) })
	var n int64
	for ; i < len(compute) && compute[i].Lo < s.EndNanos(); i++ {
		if c, ok := compute[i].Clip(interval.Interval{Lo: s.StartNanos, Hi: s.EndNanos()}); ok {
			n += c.Hi - c.Lo
		}
	}
	return n
}

// part divides a rank's time in a collective.
func (f *figures) part(dur, wait int64) {
	f.parted += micros(dur)
	f.wait, f.transfer = append(f.wait, micros(wait)), append(f.transfer, micros(dur-wait))
}

func addMatched(all map[kind]*figures, list []profiler.Collective) {
	for i := range list {
		c := &list[i]
		flow := record.FlowOf(c.Group)
		for j, dur := range c.DurNanos {
			f := all[kind{c.OpAt(j), flow.Axis, c.Bytes}]
			if f == nil {
				continue
			}
			if f.n = max(f.n, len(c.Ranks)); j == 0 || flow.Transfer() {
				f.firstEnd = append(f.firstEnd, micros(c.TransferNanos))
			}
			wait := c.DeviceWait[j]
			if wait < 0 {
				wait = c.WaitNanos[j]
			}
			f.part(dur, min(wait, dur))
		}
	}
}

func micros(nanos int64) float64 { return float64(nanos) / 1e3 }

func sortedKinds(all map[kind]*figures) []kind {
	var out []kind
	for k := range all {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.op, b.op), cmp.Compare(a.bytes, b.bytes))
	})
	return out
}

// lastSampled yields the last n sampled steps.
func lastSampled(ctx context.Context, dir string, n int, yield func(int, []profiler.RankSpans) error) error {
	total := 0
	if err := profiler.EachSampled(ctx, dir, func(int, []profiler.RankSpans) error { total++; return nil }); err != nil {
		return err
	}
	i := 0
	return profiler.EachSampled(ctx, dir, func(step int, ranks []profiler.RankSpans) error {
		if i++; i <= total-n {
			return nil
		}
		return yield(step, ranks)
	})
}

// writeRanks is ranks.csv: one row per rank.
func writeRanks(ctx context.Context, w io.Writer, runs []*run) error {
	t := newTable(w, ranksHead)
	for _, r := range runs {
		if err := writeRanksOf(ctx, t, r); err != nil {
			return err
		}
	}
	return t.close()
}

func writeRanksOf(ctx context.Context, t *table, r *run) error {
	health, err := devices(ctx, r)
	if err != nil {
		return err
	}
	var matched []profiler.Collective
	err = lastSampled(ctx, r.Dir, maxSampled, func(_ int, ranks []profiler.RankSpans) error {
		matched = append(matched, profiler.Match(ranks)...)
		return nil
	})
	if err != nil {
		return err
	}
	var late map[int]profiler.Straggler
	for _, rank := range r.ranks {
		walls, compute, err := rankTimes(ctx, r, rank)
		if err != nil {
			return err
		}
		step := stats.Percentile(walls, 0.5)
		if late == nil {
			late = map[int]profiler.Straggler{}
			for _, s := range profiler.Stragglers(matched, step*1e9) {
				late[s.Rank] = s
			}
		}
		lateness, share := math.NaN(), math.NaN()
		if s, ok := late[rank]; ok {
			lateness, share = 100*s.Lateness, s.Share
		}
		d := health[rank]
		if d == nil {
			d = &device{reasons: record.Unknown}
		}
		t.text(r.ID).int(int64(rank)).text(d.host, d.name).float(step, stats.Percentile(compute, 0.5), lateness, share)
		t.float(stats.Mean(d.watts), stats.Percentile(d.mhz, 0.5)).known(d.reasons).text(r.Plan.Link, r.emulatedDevice())
		if err := t.end(); err != nil {
			return err
		}
	}
	return nil
}

// rankTimes are the step and compute times, in seconds, of a rank's steps that count.
func rankTimes(ctx context.Context, r *run, rank int) (walls, compute []float64, err error) {
	_, err = record.EachStepLine(ctx, record.StepsPath(r.Dir, rank), func(l *record.StepLine) error {
		if l.WallNanos >= 0 {
			walls = append(walls, float64(l.WallNanos)/1e9)
			compute = append(compute, float64(max(0, l.ComputeNanos))/1e9)
		}
		return nil
	})
	n := stats.Skip(walls).Steps
	return walls[n:], compute[n:], err
}
