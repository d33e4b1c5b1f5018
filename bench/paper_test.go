package bench

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"boost-tui/kernels"
	"boost-tui/kernels/cpu"
)

// What was published for LLaMA 7B on four A100 over NVLink, sequence 4096, micro-batch 4, bf16: the authors' figures
// (arXiv 2512.12131) and the logs in their repository, Arcana-2236/BOOST.
const (
	paperPeak    = 312e12    // FLOP/s of a GPU in bf16
	paperUse     = 0.79      // of it, that the dense products of 7B reach: 79.4 % in attention, 78.2 % in the MLP
	paperPayload = 141e9 / 2 // elements of an all-reduce's payload a second, of two bytes each
	paperLatency = 57e-6     // seconds of an all-reduce, whatever its size
	paperRows    = 4 * 4096
	paperFull    = 1.47 // speed-up of btp over full-rank at 7B
	paperVanilla = 2.28 // over vanilla
)

// The emulation: the layer of 7B as it is, fewer of them and fewer tokens.
const (
	paperRanks  = 4
	paperWidth  = 4096
	paperFF     = 11008
	paperTokens = 512
	paperSteps  = 4 // of a run, of which the first does not count

	steady = 0.1 // share by which the speed of the cores may change around a run without a remark
)

// figures are one scheme's in seconds of a step.
type figures struct {
	before, after float64 // FLOP/s of a rank, all at work, around the run
	link          kernels.Link

	step     float64
	compute  float64 // of a rank, whether it covered messages or not
	transfer float64 // on the link, from when all ranks have come
	exposed  float64 // transfer that no compute of the rank covered
	wait     float64 // for other ranks
}

// alone is what a step would take if nobody waited for a rank whose turn on the cores has not come.
func (f figures) alone() float64 { return f.compute + f.exposed }

// at is what the figures would be with cores of a rate: compute follows what the cores did around the run, and the link what
// they did before it, when it was made.
func (f figures) at(rate float64) figures {
	cores, link := (f.before+f.after)/2/rate, f.before/rate
	f.step = (f.step-f.exposed)*cores + f.exposed*link
	f.compute, f.wait = f.compute*cores, f.wait*cores
	f.transfer, f.exposed = f.transfer*link, f.exposed*link
	return f
}

// round is the three schemes one after another.
type round [3]figures

// even is the round with cores of one speed, those of its beginning.
func (r round) even() round {
	rate := r[0].before
	for k := range r {
		r[k] = r[k].at(rate)
	}
	return r
}

var paperSchemes = [3]struct{ variant, scheme string }{{"full", "full-rank"}, {"cola", "vanilla"}, {"cola", "btp"}}

// BenchmarkPaper trains one layer of 7B on four ranks over an emulated link, under the three schemes, and prints step
// times and speed-ups beside the published ones. FLOPs that a rank does in the time of an element on the link are those
// of an A100 beside NVLink; the link is made anew before every run, for what the cores do then.
func BenchmarkPaper(b *testing.B) {
	bin := program(b)
	var rounds []round
	for b.Loop() {
		var r round
		rate := rankRate(b)
		for k, s := range paperSchemes {
			r[k] = train(b, bin, s.variant, s.scheme, linkLike(rate))
			r[k].before, r[k].after = rate, rankRate(b)
			rate = r[k].after
		}
		rounds = append(rounds, r)
	}
	for k, name := range []string{"x-full-rank", "x-vanilla"} {
		b.ReportMetric(middle(rounds, func(r round) float64 { r = r.even(); return r[k].step / r[2].step }), name)
	}
	fmt.Print(table(rounds)) // a benchmark's log is cut after ten lines
}

// linkLike is a link on which an element takes as long beside a rank's products as on the published machine, and on which an
// all-reduce's latency has the published proportion to its transfer.
func linkLike(rate float64) kernels.Link {
	flopPerElement := paperPeak * paperUse / paperPayload
	payload := rate / flopPerElement // elements a second
	// All times of this emulation are longer than the published ones by one factor.
	slower := float64(paperTokens) / paperRows * paperPayload / payload
	const ring = 2 * (paperRanks - 1) // steps of an all-reduce; each rank sends ring/ranks of the payload
	return kernels.Link{BytesPerSecond: payload * 4 * ring / paperRanks,
		Latency: time.Duration(paperLatency * slower / ring * 1e9).Round(time.Microsecond)}
}

// train is one run under a scheme.
func train(b *testing.B, bin, variant, scheme string, link kernels.Link) figures {
	var r struct {
		Step      float64 `json:"step_time_median"`
		Breakdown struct {
			Compute  float64 `json:"compute"`
			Wait     float64 `json:"comm_wait"`
			Transfer float64 `json:"comm_transfer"`
			Overlap  float64 `json:"overlap"`
		} `json:"breakdown"`
	}
	ask(b, b.TempDir(), bin, &r, "run", "--size", "7b", "--layers", "1", "--vocab", "256", "--seq", fmt.Sprint(paperTokens), "--micro-batch", "1",
		"--tp", fmt.Sprint(paperRanks), "--device", "cpu", "--variant", variant, "--scheme", scheme, "--steps", fmt.Sprint(paperSteps),
		"--keep-last", "0", "--link", fmt.Sprintf("bw=%.3fMB/s,latency=%dus", link.BytesPerSecond/1e6, link.Latency.Microseconds()))
	d := &r.Breakdown
	return figures{link: link, step: r.Step, compute: d.Compute, transfer: d.Transfer, exposed: max(0, d.Transfer-d.Overlap), wait: d.Wait}
}

// middle is the median of a figure over the rounds.
func middle(rounds []round, of func(round) float64) float64 {
	v := values(rounds, of)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// values are a figure of every round, the smallest first.
func values(rounds []round, of func(round) float64) []float64 {
	var v []float64
	for _, r := range rounds {
		v = append(v, of(r))
	}
	slices.Sort(v)
	return v
}

// spread is a figure's median and its range.
func spread(rounds []round, form string, of func(round) float64) string {
	v := values(rounds, of)
	return fmt.Sprintf(form+" ("+form+" to "+form+")", middle(rounds, of), v[0], v[len(v)-1])
}

func table(rounds []round) string {
	var w strings.Builder
	fmt.Fprintf(&w, "emulated link: %d ranks on %d cores; %.0f FLOP of dense products in the time of an element of payload, as 4 x A100 over NVLink\n",
		paperRanks, runtime.NumCPU(), paperPeak*paperUse/paperPayload)
	for i, r := range rounds {
		for k, f := range r {
			note := ""
			if change := f.after/f.before - 1; change < -steady || change > steady {
				note = ": UNSTEADY"
			}
			fmt.Fprintf(&w, "  round %d, %-9s %6.2f s a step; %.1f GFLOP/s a rank, all at work, and %.1f afterwards; link %.1f MB/s, %v a step of the ring%s\n",
				i+1, paperSchemes[k].scheme, f.step, f.before/1e9, f.after/1e9, f.link.BytesPerSecond/1e6, f.link.Latency, note)
		}
	}
	fmt.Fprintf(&w, "  7b, 1 layer, %d tokens  step s, emulated link   transfer %%  exposed transfer %%  wait for others' turns %%\n", paperTokens)
	for k, s := range paperSchemes {
		part := func(of func(figures) float64) float64 {
			return 100 * middle(rounds, func(r round) float64 { f := r.even()[k]; return of(f) / f.step })
		}
		fmt.Fprintf(&w, "  %-23s %-23s %11.1f %19.1f %24.1f\n", s.scheme, spread(rounds, "%.2f", func(r round) float64 { return r.even()[k].step }),
			part(func(f figures) float64 { return f.transfer }), part(func(f figures) float64 { return f.exposed }), part(func(f figures) float64 { return f.wait }))
	}
	fmt.Fprintf(&w, "  btp is faster           by step, emulated link  compute + exposed transfer  published, abstract   published, 7b\n")
	for k, published := range []struct {
		span  string
		seven float64
	}{{"1.46 to 1.91", paperFull}, {"1.87 to 2.27", paperVanilla}} {
		over := func(of func(figures) float64) string {
			return spread(rounds, "%.2f", func(r round) float64 { r = r.even(); return of(r[k]) / of(r[2]) })
		}
		fmt.Fprintf(&w, "  over %-18s %-23s %-27s %-21s %.2f\n", paperSchemes[k].scheme,
			over(func(f figures) float64 { return f.step }), over(figures.alone), published.span, published.seven)
	}
	fmt.Fprintf(&w, "  below the rounds, everything is for cores of one speed in a round\n")
	return w.String()
}

// rankRate is the FLOP/s that a rank reaches in a dense layer's products, sliced as full-rank slices them, while all
// ranks compute.
func rankRate(b *testing.B) float64 {
	b.Helper()
	const least = 3 * time.Second
	rates := make([]float64, paperRanks)
	var all sync.WaitGroup
	for r := range rates {
		dev, err := cpu.Open(cpu.Options{Threads: 1})
		if err != nil {
			b.Fatal(err)
		}
		ops, err := denseProducts(dev)
		if err != nil {
			b.Fatal(err)
		}
		all.Go(func() {
			flops, start := int64(0), time.Now()
			for i := 0; time.Since(start) < least; i++ {
				op := ops[i%len(ops)]
				if err := dev.Do(kernels.Call{Stream: kernels.ComputeStream}, op); err != nil {
					b.Error(err)
					return
				}
				flops += op.FLOPs()
			}
			rates[r] = float64(flops) / time.Since(start).Seconds()
		})
		defer func() {
			if err := dev.Close(); err != nil {
				b.Error(err)
			}
		}()
	}
	all.Wait()
	sum := 0.0
	for _, r := range rates {
		sum += r
	}
	return sum / paperRanks
}

// denseProducts are the forward's of a rank: four of attention, three of the MLP.
func denseProducts(dev kernels.Device) ([]*kernels.Gemm, error) {
	const d, f = paperWidth, paperFF / paperRanks
	var l kernels.Layout
	x, wide := l.Add(paperTokens, d, kernels.F32), l.Add(paperTokens, f, kernels.F32)
	q, up, down := l.Add(d/paperRanks, d, kernels.F32), l.Add(f, d, kernels.F32), l.Add(d, f, kernels.F32)
	heads, out := l.Add(paperTokens, d/paperRanks, kernels.F32), l.Add(paperTokens, d, kernels.F32)
	if _, err := l.Commit(dev, kernels.MemBuffers, false); err != nil {
		return nil, err
	}
	into := func(a, w, y *kernels.View) *kernels.Gemm {
		return &kernels.Gemm{Alpha: 1, A: *a, B: *w, D: *y, TransB: true}
	}
	qkvo, mlp := into(x, q, heads), into(x, up, wide)
	return []*kernels.Gemm{qkvo, qkvo, qkvo, qkvo, mlp, mlp, into(wide, down, out)}, nil
}
