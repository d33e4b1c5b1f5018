package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/tui/format"
)

// progress draws one line that is written over itself. Where the stream is no terminal it draws nothing.
type progress struct {
	out   io.Writer
	on    bool
	title string
	steps int
	drawn time.Time
	width int // of what stands there
	wall  [20]int64
	seen  int
}

// redrawEvery keeps a fast run from spending its time on a terminal.
const redrawEvery = 100 * time.Millisecond

func (a *app) progress(title string, steps int) *progress {
	return &progress{out: a.err, on: isTerminal(a.err), title: title, steps: steps}
}

// step notes a step and redraws when it is time.
func (p *progress) step(l record.StepLine) {
	p.wall[p.seen%len(p.wall)] = l.WallNanos
	p.seen++
	if now := time.Now(); p.on && (now.Sub(p.drawn) >= redrawEvery || int(l.Step) >= p.steps) {
		p.drawn = now
		p.draw(l)
	}
}

func (p *progress) draw(l record.StepLine) {
	const cells = 20
	filled := min(cells*int(l.Step)/max(p.steps, 1), cells)
	var sum int64
	n := min(p.seen, len(p.wall))
	for _, w := range p.wall[:n] {
		sum += w
	}
	mean := time.Duration(sum / int64(n))
	text := fmt.Sprintf("%s [%s%s] %d/%d", p.title, strings.Repeat("#", filled), strings.Repeat(".", cells-filled), l.Step, p.steps)
	if l.Loss == l.Loss {
		text += fmt.Sprintf("  loss %.4f", l.Loss)
	}
	text += fmt.Sprintf("  %s ms/step  %s left", format.Millis(mean.Seconds()), format.Duration(mean*time.Duration(max(p.steps-int(l.Step), 0))))
	pad := max(p.width-len(text), 0)
	p.width = len(text)
	fmt.Fprintf(p.out, "\r%s%s", text, strings.Repeat(" ", pad))
}

// clear takes the line away.
func (p *progress) clear() {
	if p.on && p.width > 0 {
		fmt.Fprintf(p.out, "\r%s\r", strings.Repeat(" ", p.width))
		p.width = 0
	}
}
