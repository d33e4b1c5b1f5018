package terminal

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

// emulate applies what diff writes to a grid, as a terminal would.
func emulate(t *testing.T, screen *grid, out []byte) {
	t.Helper()
	x, y, style := 0, 0, ""
	s := string(out)
	for len(s) > 0 {
		if s[0] != 0x1b {
			r := []rune(s)[0]
			s = s[len(string(r)):]
			if x >= screen.w {
				t.Fatalf("wrote beyond column %d", x)
			}
			screen.row(y)[x] = cell{r, style}
			x++
			if width(r) == 2 {
				screen.row(y)[x] = cell{0, style}
				x++
			}
			continue
		}
		n, sgr := escape(s)
		sequence := s[:n]
		s = s[n:]
		switch {
		case sgr:
			style = apply(style, sequence)
		case strings.HasSuffix(sequence, "H"):
			x, y = 0, 0
			fmt.Sscanf(sequence, "\x1b[%d;%dH", &y, &x)
			y, x = y-1, max(0, x-1)
		case strings.HasSuffix(sequence, "K"):
			for i := x; i < screen.w; i++ {
				screen.row(y)[i] = blank
			}
		case strings.HasSuffix(sequence, "J"):
			*screen = *newGrid(screen.w, screen.h)
		default:
			t.Fatalf("unknown sequence %q", sequence)
		}
	}
	if style != "" {
		t.Fatal("a frame ends in a style")
	}
}

// P7: any sequence of frames leaves on the screen what the last one says.
func TestDiffReachesTheFrame(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	pieces := []string{"a", " ", "    ", "\x1b[1mbold\x1b[0m", "\x1b[38;5;3m█▒\x1b[0m", "漢", "\n", "long text of many cells", "\x1b[7m  \x1b[0m", "⣀"}
	var shown *grid
	screen := newGrid(40, 8)
	for i := range 3000 {
		var b strings.Builder
		for range random.IntN(40) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		next := parse(b.String(), 40, 8)
		emulate(t, screen, diff(nil, shown, next))
		shown = next
		for j := range screen.cells {
			if screen.cells[j] != next.cells[j] {
				t.Fatalf("frame %d: cell %d is %+v, want %+v in\n%q", i, j, screen.cells[j], next.cells[j], b.String())
			}
		}
	}
}

// P21: an equal frame writes nothing, a small change little.
func TestDiffIsSmall(t *testing.T) {
	a := parse(strings.Repeat("a line of text that is rather long\n", 20), 80, 20)
	if out := diff(nil, a, parse(strings.Repeat("a line of text that is rather long\n", 20), 80, 20)); len(out) != 0 {
		t.Errorf("an equal frame wrote %q", out)
	}
	b := parse(strings.Repeat("a line of text that is rather long\n", 19)+"a line of test that is rather long", 80, 20)
	if out := diff(nil, a, b); len(out) > 12 {
		t.Errorf("one changed letter wrote %q", out)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m\n漢\x1b", 10, 2)
	f.Fuzz(func(t *testing.T, s string, w, h int) {
		w, h = max(0, min(w, 100)), max(0, min(h, 40))
		g := parse(s, w, h)
		screen := newGrid(w, h)
		emulate(t, screen, diff(nil, nil, g))
		if again := diff(nil, g, parse(s, w, h)); len(again) != 0 {
			t.Fatalf("the same frame wrote %q", again)
		}
	})
}

// slow is a terminal that takes its time.
type slow struct {
	mu  sync.Mutex
	buf bytes.Buffer
	d   time.Duration
}

func (s *slow) Write(b []byte) (int, error) {
	time.Sleep(s.d)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(b)
}

// P4: Paint never waits; frames that nobody could see are left out.
func TestPainterDropsFrames(t *testing.T) {
	out := &slow{d: 30 * time.Millisecond}
	p := NewPainter(out)
	start := time.Now()
	for i := range 1000 {
		p.Paint(fmt.Sprint("frame ", i), 20, 2, false)
	}
	// One that waited for every frame would take 30 s; a busy machine may take this thread away for a while.
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("1000 frames held up the caller for %v", d)
	}
	p.Paint("LAST", 20, 2, false) // shares no cell with the others: what is written of it is all of it
	time.Sleep(150 * time.Millisecond)
	if !p.Close(time.Second) {
		t.Fatal("the painter did not end")
	}
	if s := out.buf.String(); !strings.Contains(s, "LAST") || len(s) > 200 {
		t.Errorf("wrote %q", s)
	}
}

func TestPainterEndsOnAStalledTerminal(t *testing.T) {
	out := &slow{d: time.Hour}
	p := NewPainter(out)
	p.Paint("x", 5, 1, false)
	time.Sleep(10 * time.Millisecond)
	start := time.Now()
	if p.Close(50*time.Millisecond) || time.Since(start) > 30*time.Second {
		t.Error("Close waited for a terminal that takes nothing")
	}
}

func TestClipboard(t *testing.T) {
	env := func(set map[string]string) func(string) string { return func(k string) string { return set[k] } }
	if got := string(Clipboard("hi", env(nil))); got != "\x1b]52;c;aGk=\x07" {
		t.Errorf("%q", got)
	}
	if got := string(Clipboard("hi", env(map[string]string{"TERM": "screen"}))); got != "\x1bP\x1b]52;c;aGk=\x07\x1b\\" {
		t.Errorf("%q", got)
	}
}

func BenchmarkFrame(b *testing.B) {
	frame := strings.Repeat("\x1b[38;5;74m│\x1b[0m a line of ordinary text ⣀⣀⣤⣶ \x1b[1mbold\x1b[0m\n", 36)
	shown := parse("", 120, 36)
	buf := make([]byte, 0, 1<<16)
	for b.Loop() {
		g := parse(frame, 120, 36)
		buf = diff(buf[:0], shown, g)
	}
}
