package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"boost-tui/profiler/record"
	"boost-tui/runner"
	"boost-tui/sweeps"
	"boost-tui/sweeps/results"
	"boost-tui/tui/format"
)

// sweepBar tells people how a sweep gets on: a line for each point that is over, and on a terminal one line below that is written
// over itself. What it says comes from the sweep's directory alone, whoever works it off.
type sweepBar struct {
	out    io.Writer
	on     bool // the stream is a terminal
	follow *sweeps.Follower
	runs   *runner.Store
	cache  *results.Cache
	state  *sweeps.State
	told   map[string]sweeps.Status // points whose end was told
	left   string                   // estimate of what is left, as of some time ago
	old    bool                     // something has changed since
	again  time.Time                // when it may be estimated anew
	width  int                      // of the line that stands there
}

// barEvery is how often the line is drawn anew.
const barEvery = 300 * time.Millisecond

// showSweep draws the progress of a sweep until stop is called. A sweep that is interrupted takes a moment to end its runs.
func (a *app) showSweep(ctx context.Context, s *runner.Store, sw *sweeps.Sweep) (stop func()) {
	b := &sweepBar{out: a.err, on: isTerminal(a.err), follow: sw.Follow(), runs: s, cache: results.NewCache(), told: map[string]sweeps.Status{}}
	show, cancel := context.WithCancel(context.WithoutCancel(ctx))
	over := make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(barEvery)
		defer tick.Stop()
		interrupted := ctx.Done()
		for first := true; show.Err() == nil; first = false {
			b.look(show, first)
			select {
			case <-show.Done():
			case <-interrupted:
				interrupted = nil
				b.clear()
				fmt.Fprintln(b.out, "interrupted; a second time ends the command at once")
			case <-tick.C:
			}
		}
		b.look(show, false)
		b.clear()
	}()
	return func() {
		cancel()
		<-over
	}
}

// look reads what is new and tells it. What was over before the command began is not told again.
func (b *sweepBar) look(ctx context.Context, first bool) {
	st, changed, err := b.follow.Next()
	if err != nil {
		return // the engine and the end of the command meet the same error, and say it
	}
	b.state = st
	if changed || first {
		b.tell(first)
		b.old = true
	}
	b.estimate(ctx)
	if b.on && ctx.Err() == nil {
		b.draw()
	}
}

// estimateShare bounds the share of the time that is spent on estimates: the runs want the machine for themselves.
const estimateShare = 0.01

// estimate finds out what is left, where there is a line to show it in and something has changed.
func (b *sweepBar) estimate(ctx context.Context) {
	begin := time.Now()
	if !b.on || !b.old || begin.Before(b.again) {
		return
	}
	b.old = false
	if e, err := results.EstimateSweep(ctx, b.runs, b.state, b.cache); err == nil {
		b.left = leftWords(e)
	}
	end := time.Now()
	b.again = end.Add(time.Duration(float64(end.Sub(begin)) / estimateShare))
}

// tell says which points are over now that were not before.
func (b *sweepBar) tell(silent bool) {
	for _, p := range b.state.Points {
		if b.told[p.ID] == p.Status || !p.Status.Over() {
			continue
		}
		b.told[p.ID] = p.Status
		if silent {
			continue
		}
		text := fmt.Sprintf("%d/%d  %s", len(b.told), len(b.state.Points), runner.Clean(pointWords(p)))
		b.clear()
		fmt.Fprintln(b.out, text)
	}
}

func (b *sweepBar) draw() {
	text := countWords(counted(b.state), len(b.state.Points))
	if b.left != "" {
		text += ", " + b.left
	}
	for _, p := range b.state.Points {
		if p.Status == sweeps.Running && p.Run() != "" {
			text += "  " + b.running(p)
		}
	}
	text = short(text, barCells)
	n := utf8.RuneCountInString(text)
	fmt.Fprintf(b.out, "\r%s%s", text, strings.Repeat(" ", max(b.width-n, 0)))
	b.width = n
}

// barCells is how wide the line may become: one that wraps would not be written over.
const barCells = 110

// running is "vanilla tp 2 rank 32 [####......] 8/20 31.4 ms".
func (b *sweepBar) running(p *sweeps.PointState) string {
	const cells = 10
	text := runner.Clean(p.Label)
	last, err := record.LastSteps(record.StepsPath(b.runs.Dir(p.Run()), 0), 1)
	if err != nil || len(last) == 0 {
		return text + " starts"
	}
	l := last[0]
	filled := min(cells*int(l.Step)/max(p.Steps, 1), cells)
	return fmt.Sprintf("%s [%s%s] %d/%d %s ms", text, strings.Repeat("#", filled), strings.Repeat(".", cells-filled), l.Step, p.Steps,
		format.Millis(time.Duration(l.WallNanos).Seconds()))
}

// clear takes the line away.
func (b *sweepBar) clear() {
	if b.width > 0 {
		fmt.Fprintf(b.out, "\r%s\r", strings.Repeat(" ", b.width))
		b.width = 0
	}
}

// leftWords is "about 3 min 20 s left"; empty where that is unknown.
func leftWords(e results.Estimate) string {
	if e.Seconds == nil {
		return ""
	}
	return timeWords(e) + " left"
}

// timeWords is "about 3 min 20 s".
func timeWords(e results.Estimate) string {
	text := "about "
	if e.AtLeast() {
		text = "at least "
	}
	return text + format.Duration(time.Duration(*e.Seconds*float64(time.Second)))
}

// countWords is "3/10 over, 1 failed, 1 running, 6 queued".
func countWords(n map[sweeps.Status]int, points int) string {
	text := fmt.Sprintf("%d/%d over", points-n[sweeps.Queued]-n[sweeps.Running], points)
	for _, s := range []sweeps.Status{sweeps.Failed, sweeps.Stopped, sweeps.Cancelled, sweeps.Skipped, sweeps.Running, sweeps.Queued} {
		if n[s] > 0 {
			text += fmt.Sprintf(", %d %s", n[s], s)
		}
	}
	return text
}
