package terminal

import (
	"io"
	"sync"
	"time"

	"boost-tui/tui/safego"
)

// Painter writes frames to a terminal that may be slow. Paint never waits: a
// frame that was not written yet is replaced by the newer one. Only cells that
// changed are written, all of a frame in one write; equal frames write nothing.
type Painter struct {
	out  io.Writer
	mu   sync.Mutex
	next *frame
	raw  []byte // out of band bytes (clipboard), written between frames
	wake chan struct{}
	done <-chan *safego.Panic
	stop chan struct{}
	once sync.Once
}

type frame struct {
	text  string
	w, h  int
	fresh bool // clear the screen first
}

// NewPainter starts the painter of a terminal. Close ends it.
func NewPainter(out io.Writer) *Painter {
	p := &Painter{out: out, wake: make(chan struct{}, 1), stop: make(chan struct{})}
	p.done = safego.Go(p.loop)
	return p
}

// Paint shows a frame of w x h cells. fresh clears the screen first, for a
// terminal whose content was spoilt.
func (p *Painter) Paint(text string, w, h int, fresh bool) {
	p.mu.Lock()
	if p.next != nil && p.next.fresh {
		fresh = true
	}
	p.next = &frame{text, w, h, fresh}
	p.mu.Unlock()
	p.kick()
}

// Raw writes bytes that are no part of a frame.
func (p *Painter) Raw(b []byte) {
	p.mu.Lock()
	p.raw = append(p.raw, b...)
	p.mu.Unlock()
	p.kick()
}

func (p *Painter) kick() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Close ends the painter after what it is writing, and reports whether it
// ended within the time: a terminal that takes no bytes must not hold up the
// end of the program.
func (p *Painter) Close(wait time.Duration) bool {
	p.once.Do(func() { close(p.stop) })
	select {
	case <-p.done:
		return true
	case <-time.After(wait):
		return false
	}
}

func (p *Painter) loop() {
	var shown *grid
	var buf []byte
	for {
		select {
		case <-p.stop:
			return
		case <-p.wake:
		}
		p.mu.Lock()
		f, raw := p.next, p.raw
		p.next, p.raw = nil, nil
		p.mu.Unlock()
		buf = append(buf[:0], raw...)
		if f != nil {
			g := parse(f.text, f.w, f.h)
			if f.fresh || (shown != nil && (shown.w != g.w || shown.h != g.h)) {
				shown = nil
				buf = append(buf, "\x1b[0m\x1b[2J"...)
			}
			buf = diff(buf, shown, g)
			shown = g
		}
		if len(buf) > 0 {
			if _, err := p.out.Write(buf); err != nil {
				return
			}
		}
	}
}
