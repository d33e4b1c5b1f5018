package profiler

import (
	"math"
	"testing"

	"boost-tui/kernels"
	"boost-tui/profiler/record"
)

func coll(seq int, start, dur, wait int64) Span {
	return Span{StartNanos: start, DurNanos: dur, Op: "all-reduce", Class: kernels.Communication, Group: "tp", Seq: seq, Bytes: 1000,
		WaitNanos: wait, Stream: 1}
}

func TestMatchSplitsWaitAndTransfer(t *testing.T) {
	got := Match([]RankSpans{
		{Rank: 0, Spans: []Span{coll(0, 100, 400, 300), coll(1, 600, 150, 0), coll(2, 900, 10, 0)}},
		{Rank: 1, ClockOffset: -50, Spans: []Span{coll(0, 450, 105, 0), coll(1, 600, 200, 50)}}, // died before number 2
	})
	if len(got) != 2 {
		t.Fatalf("%d collectives: %+v", len(got), got)
	}
	a, b := got[0], got[1]
	if a.ArrivalNanos != 400 || a.WaitNanos[0] != 300 || a.WaitNanos[1] != 0 || a.TransferNanos != 100 {
		t.Errorf("first: %+v", a)
	}
	if b.WaitNanos[0] != 0 || b.WaitNanos[1] != 50 || b.TransferNanos != 150 {
		t.Errorf("second: %+v", b)
	}
	if want := 1000.0 / 100e-9; math.Abs(a.BusBytesPerSec-want) > 1 { // 2(n−1)/n is 1 for two ranks
		t.Errorf("bus bandwidth %v, want %v", a.BusBytesPerSec, want)
	}
	for i := range a.Ranks {
		if a.WaitNanos[i] != a.DeviceWait[i] || b.WaitNanos[i] != b.DeviceWait[i] {
			t.Errorf("rank %d: the device's waits %d, %d", i, a.DeviceWait[i], b.DeviceWait[i])
		}
	}
}

// Groups of the same axis are matched each by itself, and so are transfers, whose ends do different things.
func TestMatchGroupsAndTransfers(t *testing.T) {
	in := func(group, op string, seq int, start int64) Span {
		s := coll(seq, start, 100, 0)
		s.Group, s.Op = group, op
		return s
	}
	got := Match([]RankSpans{
		{Rank: 0, Spans: []Span{in("tp.0", "all-reduce", 0, 10), in("pp.0 0>1", "send", 0, 200), in("pp.0 1>0", "recv", 0, 205)}},
		{Rank: 1, Spans: []Span{in("tp.0", "all-reduce", 0, 20)}},
		{Rank: 2, Spans: []Span{in("tp.1", "all-reduce", 0, 50), in("pp.0 0>1", "recv", 0, 150), in("pp.0 1>0", "send", 0, 300)}},
		{Rank: 3, Spans: []Span{in("tp.1", "all-reduce", 0, 60)}},
	})
	if len(got) != 4 || got[0].ArrivalNanos != 20 || got[1].ArrivalNanos != 60 || len(got[1].Ranks) != 2 || got[1].Ranks[0] != 2 {
		t.Fatalf("%+v", got)
	}
	there, back := &got[2], &got[3]
	if there.Sender() != 0 || there.OpAt(0) != "send" || there.OpAt(1) != "recv" || there.WaitNanos[1] != 50 {
		t.Errorf("there: %+v", there)
	}
	if back.Sender() != 1 || back.OpAt(0) != "recv" || back.OpAt(1) != "send" || back.WaitNanos[0] != 95 {
		t.Errorf("back: %+v", back)
	}
	if s := Stragglers(got[2:], 1000); len(s) != 0 {
		t.Errorf("transfers make stragglers: %+v", s)
	}
}

func TestBusFactor(t *testing.T) {
	for op, want := range map[string]float64{"all-reduce": 1.5, "all-gather": .75, "reduce-scatter": .75, "broadcast": 1} {
		if got := BusFactor(op, 4); got != want {
			t.Errorf("%s: %v, want %v", op, got, want)
		}
	}
}

func TestStragglersAndClocks(t *testing.T) {
	var all []RankSpans
	for step := range 40 {
		for rank := range 4 {
			start := int64(step)*1000 + int64(rank)
			if rank == 2 {
				start += 100 // a tenth of a step late
			}
			end := int64(step)*1000 + 200
			offset := int64(7 * rank) // clocks that differ
			all = append(all, RankSpans{Rank: rank, Step: step, ClockOffset: -offset, Spans: []Span{coll(step, start+offset, end-start, 0)}})
		}
	}
	for _, s := range Stragglers(Match(all), 1000) {
		if s.Late != (s.Rank == 2) || s.Rank == 2 && math.Abs(s.Lateness-0.1) > 0.01 {
			t.Errorf("%+v", s)
		}
	}
}

func TestSpansOfARun(t *testing.T) {
	dir := t.TempDir()
	for rank := range 2 {
		w, err := record.OpenTimelineWriter(record.TimelinePath(dir, rank), rank, int64(rank))
		if err != nil {
			t.Fatal(err)
		}
		for step := range 2 {
			if err := w.Write(step, []Span{coll(step, int64(1000*step), 10, 0)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	steps, matched := 0, 0
	err := EachSampled(t.Context(), dir, func(step int, ranks []RankSpans) error {
		if step != steps || len(ranks) != 2 || ranks[1].ClockOffset != 1 {
			t.Errorf("step %d: %+v", step, ranks)
		}
		steps++
		matched += len(Match(ranks))
		return nil
	})
	if err != nil || steps != 2 || matched != 2 {
		t.Errorf("%d steps, %d collectives, %v", steps, matched, err)
	}
}
