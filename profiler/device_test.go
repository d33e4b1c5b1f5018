package profiler

import (
	"errors"
	"math/rand/v2"
	"testing"

	"boost-tui/kernels"
	"boost-tui/profiler/record"
)

// oneStep issues a step whose times are known. Times of its parts are in nanoseconds.
func (r *run) oneStep() {
	r.host(5) // idle: data
	r.do(0, kernels.Data, "data", "upload", fill(10))
	r.do(0, kernels.Forward, "attn.in", "norm", gemm(20))
	r.do(0, kernels.Forward, "attn.in", "qkv.A", gemm(30))
	r.start(kernels.Forward, "qkv", 40, 15) // half under compute
	r.do(0, kernels.Forward, "attn.in", "other", gemm(20))
	r.join() // 20 exposed
	r.do(0, kernels.Forward, "attn.core", "B", gemm(50))
	r.do(0, kernels.Backward, "attn.core", "dB", gemm(100))
	r.start(kernels.Backward, "o", 60, 0)
	r.join() // 60 exposed
	r.do(0, kernels.Optimizer, "update", "adamw", gemm(7))
}

var oneStepTimes = StepTimes{WallNanos: 322, ComputeNanos: 227, CommNanos: 100, ExposedNanos: 80, OverlapNanos: 20, WaitNanos: 15, BubbleNanos: record.Unknown,
	MemNanos: 10, IdleNanos: 5, ForwardNanos: 140, BackwardNanos: 100, OptimizerNanos: 67, DataNanos: 15, Collectives: 2, CommBytes: 400}

func TestStepTimes(t *testing.T) {
	for _, sampled := range []bool{false, true} {
		r := newRun(t)
		for step := range 3 {
			r.ok(r.d.BeginStep(step, sampled))
			r.oneStep()
			got, spans, err := r.d.EndStep()
			r.ok(err)
			want := oneStepTimes
			want.EndNanos = r.f.now
			if got != want {
				t.Errorf("sampled %v, step %d:\ngot  %+v\nwant %+v", sampled, step, got, want)
			}
			wantSpans := map[bool]int{false: 7, true: 9}[sampled]
			if len(spans) != wantSpans {
				t.Errorf("sampled %v: %d spans, want %d: %+v", sampled, len(spans), wantSpans, spans)
			}
			for _, s := range spans {
				if s.Class == kernels.Communication && (s.Group != "tp" || s.Seq/2 != step) {
					t.Errorf("step %d: collective %s number %d", step, s.Group, s.Seq)
				}
			}
		}
	}
}

func TestWindowReachesFromEndToEnd(t *testing.T) {
	r := newRun(t)
	r.ok(r.d.BeginStep(0, false))
	r.oneStep()
	_, _, err := r.d.EndStep()
	r.ok(err)
	r.host(1000) // a checkpoint, say
	r.ok(r.d.BeginStep(1, false))
	r.oneStep()
	got, _, err := r.d.EndStep()
	r.ok(err)
	if got.WallNanos != 1322 || got.IdleNanos != 1005 {
		t.Errorf("got %+v", got)
	}
}

func TestCommunicationBeyondTheEndCountsInTheNextStep(t *testing.T) {
	r := newRun(t)
	r.ok(r.d.BeginStep(0, false))
	r.do(0, kernels.Backward, "x", "x", gemm(10))
	r.start(kernels.Backward, "g", 100, 30)
	r.host(20)
	a, _, err := r.d.EndStep()
	r.ok(err)
	r.ok(r.d.BeginStep(1, false))
	r.do(0, kernels.Forward, "x", "x", gemm(200))
	b, _, err := r.d.EndStep()
	r.ok(err)
	if a.CommNanos != 20 || a.WaitNanos != 20 || b.CommNanos != 80 || b.WaitNanos != 10 || b.OverlapNanos != 80 {
		t.Errorf("got %+v\nthen %+v", a, b)
	}
}

func TestAFailedStepLeavesNothingBehind(t *testing.T) {
	r := newRun(t)
	r.ok(r.d.BeginStep(0, true))
	r.f.fail = errFake
	if err := r.d.Do(kernels.Call{}, gemm(1)); !errors.Is(err, errFake) {
		t.Fatalf("got %v", err)
	}
	r.f.fail = nil
	r.ok(r.d.BeginStep(1, false))
	r.oneStep()
	if _, spans, err := r.d.EndStep(); err != nil || len(spans) != 7 {
		t.Errorf("%d spans, %v", len(spans), err)
	}
	if _, _, err := r.d.EndStep(); err == nil {
		t.Error("EndStep without BeginStep")
	}
}

func TestUnknownWaitIsNotZero(t *testing.T) {
	got, err := Breakdown(0, 100, []Span{{DurNanos: 50, Class: kernels.Communication, WaitNanos: record.Unknown}})
	if err != nil || got.WaitNanos != record.Unknown || got.CommNanos != 50 || got.ForwardNanos != record.Unknown {
		t.Errorf("got %+v, %v", got, err)
	}
}

// Against a picture of the window, nanosecond by nanosecond.
func TestBreakdownOfAnySpans(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var spans []Span
		const lo, hi = 20, 120
		var picture [3][hi]bool
		var stage, moves [hi]bool // waiting for a stage, and communication but for that
		transfers := false
		for range rng.IntN(12) {
			s := Span{StartNanos: rng.Int64N(140), DurNanos: rng.Int64N(40), Class: kernels.Class(rng.IntN(3)), Stream: 1}
			from := s.StartNanos
			if s.Class == kernels.Communication {
				s.WaitNanos = rng.Int64N(s.DurNanos + 1)
				if s.Group = []string{"tp", "pp 0>1", "pp 1>0"}[rng.IntN(3)]; s.Group != "tp" {
					transfers, from = true, s.StartNanos+s.WaitNanos
				}
				for x := max(lo, s.StartNanos); x < min(hi, s.EndNanos()); x++ {
					stage[x], moves[x] = stage[x] || x < from, moves[x] || x >= from
				}
			}
			spans = append(spans, s)
			for x := max(lo, s.StartNanos); x < min(hi, s.EndNanos()); x++ {
				picture[s.Class][x] = true
			}
		}
		want := StepTimes{}
		for x := lo; x < hi; x++ {
			comp, comm, mem := picture[0][x], picture[1][x], picture[2][x]
			if stage[x] && !comp && !mem && !moves[x] {
				want.BubbleNanos++
			}
			switch {
			case comp && comm:
				want.OverlapNanos++
				want.ComputeNanos++
			case comp:
				want.ComputeNanos++
			case comm:
				want.ExposedNanos++
			case mem:
				want.MemNanos++
			default:
				want.IdleNanos++
			}
		}
		if !transfers {
			want.BubbleNanos = record.Unknown
		}
		got, err := Breakdown(lo, hi, spans)
		if err != nil || got.ComputeNanos != want.ComputeNanos || got.OverlapNanos != want.OverlapNanos ||
			got.ExposedNanos != want.ExposedNanos || got.MemNanos != want.MemNanos || got.IdleNanos != want.IdleNanos ||
			got.BubbleNanos != want.BubbleNanos || got.BubbleNanos > min(got.WaitNanos, got.ExposedNanos) {
			t.Fatalf("%+v\ngot  %+v, %v\nwant %+v", spans, got, err, want)
		}
	}
}

func TestNoAllocationPerOperation(t *testing.T) {
	r := newRun(t)
	step := func() {
		r.ok(r.d.BeginStep(1, false))
		for range 50 {
			r.do(0, kernels.Forward, "a", "x", benchGemm)
			r.do(0, kernels.Forward, "a", "y", benchGemm)
			r.do(0, kernels.Forward, "b", "z", benchGemm)
			r.ok(r.d.Record(r.ev, kernels.ComputeStream))
			r.do(r.side, kernels.Forward, "b", "q", benchReduce)
			r.join()
		}
		_, _, err := r.d.EndStep()
		r.ok(err)
	}
	step()
	if n := testing.AllocsPerRun(20, step); n != 0 {
		t.Errorf("%v allocations in a step of 200 operations", n)
	}
}

var benchGemm, benchReduce = gemm(1), reduce(1)

// What the timer itself costs per operation, the device's events apart.
func BenchmarkDo(b *testing.B) {
	for name, sampled := range map[string]bool{"always": false, "sampled": true} {
		b.Run(name, func(b *testing.B) {
			r := newRun(b)
			for b.Loop() {
				r.ok(r.d.BeginStep(1, sampled))
				for range 100 {
					for range 10 {
						r.do(0, kernels.Forward, "a", "x", benchGemm)
					}
					r.join()
				}
				_, _, err := r.d.EndStep()
				r.ok(err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/op-of-step")
		})
	}
}

// What a rank receives was counted by whoever sent it, and every transfer is numbered along its direction.
func TestTransfersAreCountedOnce(t *testing.T) {
	f := newFake()
	d, err := Wrap(f, Options{Events: 4})
	if err != nil {
		t.Fatal(err)
	}
	c := &fakeComm{name: "pp"}
	v := kernels.Matrix(&kernels.Buffer{Bytes: 64, Symmetric: true}, 0, 1, 8, kernels.F32)
	if err := d.BeginStep(1, false); err != nil {
		t.Fatal(err)
	}
	for _, op := range []kernels.Op{&kernels.Send{Comm: c, Peer: 1, Views: []kernels.View{v}}, &kernels.Recv{Comm: c, Peer: 1, Views: []kernels.View{v}},
		&kernels.Recv{Comm: c, Peer: 1, Views: []kernels.View{v}}} {
		if err := d.Do(kernels.Call{}, op); err != nil {
			t.Fatal(err)
		}
	}
	times, spans, err := d.EndStep()
	if err != nil || times.CommBytes != 32 || times.Collectives != 3 || len(spans) != 3 {
		t.Fatalf("%+v, %d spans, %v", times, len(spans), err)
	}
	for i, want := range []struct {
		group string
		seq   int
	}{{"pp 0>1", 0}, {"pp 1>0", 0}, {"pp 1>0", 1}} {
		if s := spans[i]; s.Group != want.group || s.Seq != want.seq || s.Bytes != 32 {
			t.Errorf("%+v, want %+v", s, want)
		}
	}
}
