package sweeps

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"boost-tui/runner"
	"boost-tui/sweeps/space"
)

// memory replays bytes, with plans of three points each.
func memory() *tail {
	return &tail{replay: newReplay(func(n int) (plan, error) {
		x := expansion(3, string(rune('a'+n%26)))
		p := plan{Schema: 1, Key: fmt.Sprint("key", n), Keys: []string{"rank", fmt.Sprint("axis", n%3)}, Points: x.Points, Pruned: x.Pruned}
		p.Links = []space.Link{{Point: "a0000001", Vanilla: "a0000000"}, {Point: "none"}}
		return p, nil
	})}
}

func (t *tail) take(tb testing.TB, data []byte) {
	tb.Helper()
	if _, err := t.feed(context.Background(), bytes.NewReader(data)); err != nil {
		tb.Fatal(err)
	}
}

func (t *tail) legal(tb testing.TB) *State {
	tb.Helper()
	st := t.replay.snapshot("/s/id", presence{}, time.Unix(2e9, 0))
	if err := CheckLegal(st); err != nil {
		tb.Fatalf("%v", err)
	}
	return st
}

// history writes random journals: lines as programs write them, and now and then what none would.
type history struct {
	*rand.Rand
	tail *tail
	data []byte
	runs int
	at   int64
}

func newHistory(seed uint64) *history {
	h := &history{Rand: rand.New(rand.NewPCG(seed, 1)), tail: memory(), at: 1e18}
	h.put(&line{K: kindCreate, Schema: 1, Name: "n", Argv: []string{"boost-tui"}})
	h.put(&line{K: kindPlan, N: 0, Key: "key0"})
	return h
}

func (h *history) put(l *line) {
	h.at += h.Int64N(1e9) - 1e8 // clocks of several hosts
	l.T = h.at
	data, err := l.encode()
	if err != nil {
		panic(err)
	}
	h.data = append(h.data, data...)
}

// pick is some point with one of the statuses, else any point.
func (h *history) pick(want ...Status) *PointState {
	points := h.tail.replay.points
	var fit []*PointState
	for _, p := range points {
		if slices.Contains(want, p.Status) {
			fit = append(fit, p)
		}
	}
	if len(fit) == 0 || h.IntN(10) == 0 {
		fit = points
	}
	return fit[h.IntN(len(fit))]
}

func (h *history) epoch() int {
	if h.IntN(20) == 0 {
		return h.IntN(4)
	}
	return h.tail.replay.epoch
}

func (h *history) grow(t testing.TB) {
	h.tail.take(t, h.data)
	var l *line
	switch n := h.IntN(30); {
	case n == 0 && h.IntN(3) == 0:
		l = &line{K: kindPlan, N: len(h.tail.replay.keys) - h.IntN(8)/7}
	case n == 1:
		o := DefaultOptions()
		o.Order, o.AtOnce, o.Retries = []string{OrderGiven, OrderCheapest, OrderRandom, "?"}[h.IntN(4)], h.IntN(4), h.IntN(3)
		l = &line{K: kindOptions, Options: &o}
	case n == 2:
		l = &line{K: kindPause, Who: "anna", Now: h.IntN(2) == 0}
	case n <= 4:
		l = &line{K: kindResume}
	case n <= 6:
		l = &line{K: []string{kindFirst, kindSkip, kindRetry}[h.IntN(3)], IDs: []string{h.pick(Queued, Failed).ID, h.pick(Skipped, Cancelled).ID, "none"}[:h.IntN(4)]}
		if l.Again = l.K == kindRetry && h.IntN(3) > 0; l.Again {
			l.IDs = append(l.IDs, h.pick(Finished).ID)
		}
	case n == 7 || !h.tail.replay.open && n < 20:
		l = &line{K: kindHold, Epoch: h.tail.replay.epoch + 1 - h.IntN(10)/9, Until: h.at + h.Int64N(1e10) - 5e9, Process: &runner.Process{PID: 1 + h.IntN(9), Host: "h"}}
	case n == 8:
		l = &line{K: []string{kindRelease, kindStop, kindNote, "unheard-of"}[h.IntN(4)], Cause: "c", Epoch: h.epoch()}
	case n <= 16:
		p := h.pick(Queued)
		l = &line{K: kindBegin, Point: p.ID, Attempt: len(p.Attempts) + 1 - h.IntN(12)/11}
	case n <= 20:
		h.runs++
		l = &line{K: []string{kindRun, kindAdopt}[h.IntN(2)], Point: h.pick(Running).ID, Run: fmt.Sprint("run", h.runs-h.IntN(2))}
	default:
		l = &line{K: kindEnd, Point: h.pick(Running).ID, State: []string{"finished", "failed", "cancelled", "lost", "running"}[h.IntN(5)], Seconds: h.Float64()*10 - 1}
		l.Machine, l.Again = h.IntN(5) == 0, h.IntN(6) == 0
		if h.IntN(6) == 0 {
			l.Rule = "diverged"
		}
		if h.IntN(3) == 0 {
			h.runs++
			l.Run, l.Ended = fmt.Sprint("run", h.runs), h.at-h.Int64N(1e10)
		}
	}
	if l.Point != "" {
		l.Epoch = h.epoch()
		if p := h.tail.replay.points[h.tail.replay.index[l.Point]]; l.Attempt == 0 {
			l.Attempt = len(p.Attempts) - h.IntN(15)/14
		}
	}
	h.put(l)
	switch h.IntN(40) {
	case 0: // a program died within its line; the next one ends it
		h.data = append(h.data[:len(h.data)-1-h.IntN(20)], '\n')
	case 1:
		h.data = append(h.data, "\x00\x1b[31m{{\n\n [1]\n"...)
	}
}

// extends says what of an earlier state a later one has lost.
func extends(a, b *State) error {
	if len(b.Points) < len(a.Points) || len(b.Pace) < len(a.Pace) || b.DeviceHours < a.DeviceHours || len(b.Keys) < len(a.Keys) {
		return fmt.Errorf("%d points after %d", len(b.Points), len(a.Points))
	}
	for i, p := range a.Points {
		q := b.Points[i]
		n := len(p.Attempts)
		if q.ID != p.ID || len(q.Attempts) < n || p.Status == Finished && (q.Status != Finished || len(q.Attempts) > n) && !q.Attempts[n-1].Replaced {
			return fmt.Errorf("point %s was %s after %d attempts, and is %s after %d", p.ID, p.Status, n, q.Status, len(q.Attempts))
		}
		for j, x := range p.Attempts {
			y := q.Attempts[j]
			if wanted := x.Replaced && !y.Replaced; wanted && len(q.Attempts) > j+1 { // the wish was taken back too late
				return fmt.Errorf("attempt %d of %s counts again, after %d more", x.N, x.Run, len(q.Attempts)-j-1)
			}
			x.Replaced = y.Replaced
			if y.Begun != x.Begun || x.Run != "" && y.Run != x.Run || !x.Ended.IsZero() && y != x {
				return fmt.Errorf("attempt %d of %s was %+v and is %+v", x.N, p.ID, x, y)
			}
		}
	}
	return nil
}

// TestEveryPrefixIsLegal replays random journals cut at every byte, from the start and on top of the prefix before, and
// lets a successor go on behind the cut.
func TestEveryPrefixIsLegal(t *testing.T) {
	histories := 4
	if testing.Short() || raceEnabled {
		histories = 2
	}
	reached, replaced := map[Status]bool{}, 0
	for seed := range histories {
		h := newHistory(uint64(seed))
		for range 60 {
			h.grow(t)
		}
		successor := `{"t":1500000000000000000,"k":"hold","epoch":%d,"process":{"pid":7,"host":"b"}}` + "\n" +
			`{"t":1500000000000000001,"k":"begin","point":"a0000001","attempt":1,"epoch":%d}` + "\n"
		grown := memory()
		before := grown.legal(t)
		for n := range len(h.data) + 1 {
			whole := memory()
			whole.take(t, h.data[:n])
			st := whole.legal(t)
			grown.take(t, h.data[:n])
			if n == len(h.data) || h.data[n] == '\n' || n%17 == 0 { // comparing is what takes time
				if again := grown.legal(t); !reflect.DeepEqual(again, st) {
					t.Fatalf("seed %d, byte %d: replayed at once %+v, bit by bit %+v", seed, n, st, again)
				}
			}
			if err := extends(before, st); err != nil {
				t.Fatalf("seed %d, byte %d: %v", seed, n, err)
			}
			before = st
			for _, p := range st.Points {
				reached[p.Status] = true
				if k := len(p.Attempts); k > 1 && p.Status == Finished && p.Attempts[k-2].Replaced {
					replaced++
				}
			}
			epoch := whole.replay.epoch + 1
			whole.take(t, slices.Concat(h.data[:n], []byte("\n"), fmt.Appendf(nil, successor, epoch, epoch)))
			if err := extends(st, whole.legal(t)); err != nil {
				t.Fatalf("seed %d, byte %d, with a successor: %v", seed, n, err)
			}
			if whole.replay.epoch < epoch {
				t.Fatalf("seed %d, byte %d: the successor does not hold the sweep", seed, n)
			}
		}
	}
	if replaced == 0 && histories > 2 {
		t.Error("no history has a point that finished, and finished again")
	}
	for _, s := range []Status{Queued, Running, Finished, Failed, Stopped, Cancelled, Skipped} {
		if !reached[s] && histories > 2 {
			t.Errorf("no history has a point %s", s)
		}
	}
}

// TestSnapshotsDoNotChange holds states while more is replayed.
func TestSnapshotsDoNotChange(t *testing.T) {
	for seed := range uint64(10) {
		h := newHistory(seed)
		type kept struct {
			st   *State
			text string
		}
		var all []kept
		for range 60 {
			h.grow(t)
			h.tail.take(t, h.data)
			st := h.tail.legal(t)
			all = append(all, kept{st, print(st)})
		}
		for i, k := range all {
			if print(k.st) != k.text {
				t.Fatalf("seed %d: snapshot %d changed", seed, i)
			}
		}
	}
}

func print(st *State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%+v\n", *st)
	for _, p := range st.Points {
		fmt.Fprintf(&b, "%+v\n", *p)
	}
	return b.String()
}

// TestVerdicts says what becomes of a point when its attempts end so.
func TestVerdicts(t *testing.T) {
	end := func(state string, more ...func(*line)) line {
		l := line{K: kindEnd, State: state, Cause: "why", Seconds: 1}
		for _, f := range more {
			f(&l)
		}
		return l
	}
	machine := func(l *line) { l.Machine = true }
	again := func(l *line) { l.Again = true }
	rule := func(l *line) { l.Rule = "slower" }
	for name, c := range map[string]struct {
		ends     []line
		want     Status
		failures int
	}{
		"finished":                      {[]line{end("finished")}, Finished, 0},
		"its own fault":                 {[]line{end("failed")}, Failed, 1},
		"the machine's, tried again":    {[]line{end("failed", machine)}, Queued, 1},
		"the machine's, and again":      {[]line{end("lost", machine), end("lost", machine)}, Queued, 2},
		"the machine's once too often":  {[]line{end("lost", machine), end("failed", machine), end("lost", machine)}, Failed, 3},
		"the machine's, then finished":  {[]line{end("lost", machine), end("finished")}, Finished, 0},
		"interrupted counts for naught": {[]line{end("cancelled", again), end("lost", again, machine), end("lost", machine), end("lost", machine)}, Queued, 2},
		"cancelled":                     {[]line{end("cancelled")}, Cancelled, 0},
		"stopped by a rule":             {[]line{end("failed", machine), end("cancelled", rule)}, Stopped, 0},
		"lost":                          {[]line{end("lost")}, Failed, 1},
	} {
		h := newHistory(0)
		h.put(&line{K: kindHold, Epoch: 1, Process: &runner.Process{PID: 1}})
		for i, l := range c.ends {
			h.put(&line{K: kindBegin, Point: "a0000000", Attempt: i + 1, Epoch: 1})
			l.Point, l.Attempt, l.Epoch = "a0000000", i+1, 1
			h.put(&l)
		}
		h.tail.take(t, h.data)
		st := h.tail.legal(t)
		if p := st.Point("a0000000"); p.Status != c.want || st.Failures != c.failures || st.BadLines != 0 || len(p.Attempts) != len(c.ends) {
			t.Errorf("%s: %s after %d attempts, %d failures, %d bad lines", name, p.Status, len(p.Attempts), st.Failures, st.BadLines)
		}
		if c.want == Finished {
			continue
		}
		h.put(&line{K: kindRetry, IDs: []string{"a0000000"}})
		h.put(&line{K: kindBegin, Point: "a0000000", Attempt: len(c.ends) + 1, Epoch: 1})
		h.put(&line{K: kindEnd, Point: "a0000000", Attempt: len(c.ends) + 1, Epoch: 1, State: "lost", Machine: true})
		h.tail.take(t, h.data)
		if p := h.tail.legal(t).Point("a0000000"); p.Status != Queued && c.want != Queued {
			t.Errorf("%s: asked for once more and lost: %s", name, p.Status)
		}
	}
}

func TestOrders(t *testing.T) {
	h := newHistory(0) // a0000000 is a twin, cheapest first: 0, 2, 1
	ids := func() string {
		h.tail.take(t, h.data)
		var s []string
		for _, p := range h.tail.legal(t).Queue {
			s = append(s, strings.Replace(p.ID, "000000", "", 1))
		}
		return strings.Join(s, " ")
	}
	is := func(want string) {
		t.Helper()
		if got := ids(); got != want {
			t.Errorf("queue %q, want %q", got, want)
		}
	}
	options := func(order string, seed uint64) {
		o := DefaultOptions()
		o.Order, o.Seed = order, seed
		h.put(&line{K: kindOptions, Options: &o})
	}
	is("a0 a1 a2")
	h.put(&line{K: kindPlan, N: 1})
	is("a0 b0 a1 a2 b1 b2") // twins of a later plan do not wait
	h.put(&line{K: kindFirst, IDs: []string{"b0000002", "a0000002"}})
	is("b2 a2 a0 b0 a1 b1")
	h.put(&line{K: kindFirst, IDs: []string{"a0000001", "b0000002"}})
	is("a1 b2 a2 a0 b0 b1")
	options(OrderCheapest, 1)
	is("a1 b2 a2 a0 b0 b1")
	h.put(&line{K: kindFirst})
	is("a0 b0 a2 b2 a1 b1")
	options(OrderRandom, 1)
	random := ids()
	options(OrderRandom, 2)
	if other := ids(); other == random {
		t.Errorf("two seeds give %q", other)
	}
	options(OrderRandom, 1)
	is(random)
	h.put(&line{K: kindPlan, N: 2})
	rest := strings.Join(slices.DeleteFunc(strings.Fields(ids()), func(s string) bool { return s[0] == 'c' }), " ")
	if rest != random {
		t.Errorf("what was added moves the others: %q, before %q", rest, random)
	}
}

func TestUnknownCostComesLast(t *testing.T) {
	for _, c := range []struct {
		a, b float64
		want int
	}{{1, 2, -1}, {2, 1, 1}, {0, 2, 1}, {2, 0, -1}, {0, 0, 0}, {2, 2, 0}} {
		if got := byCost(c.a, c.b); got != c.want {
			t.Errorf("%g before %g: %d", c.a, c.b, got)
		}
	}
}

func FuzzJournal(f *testing.F) {
	for seed := range uint64(3) {
		h := newHistory(seed)
		for range 40 {
			h.grow(f)
		}
		f.Add(h.data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m := memory()
		if _, err := m.feed(context.Background(), bytes.NewReader(data)); err != nil {
			return
		}
		st := m.legal(t)
		for _, s := range []string{st.Name, st.Cause, strings.Join(st.Argv, "")} {
			if runner.CleanTo(s, 1<<20) != s {
				t.Fatalf("%q reaches a terminal", s)
			}
		}
	})
}
