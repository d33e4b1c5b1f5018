package kernels

import (
	"strings"
	"testing"
	"time"
)

// seat is a communicator by name only.
type seat struct {
	name       string
	rank, size int
}

func (s seat) Name() string  { return s.name }
func (s seat) Rank() int     { return s.rank }
func (s seat) Size() int     { return s.size }
func (s seat) Status() error { return nil }
func (s seat) Abort() error  { return nil }
func (s seat) Close() error  { return nil }

func TestTransferChecks(t *testing.T) {
	shared, own := &Buffer{Name: "s", Bytes: 4096, Symmetric: true}, &Buffer{Name: "o", Bytes: 4096}
	v, w := Matrix(shared, 0, 4, 8, F32), Matrix(own, 0, 4, 8, F32)
	c := seat{"pp", 1, 3}
	for what, tc := range map[string]struct {
		op   Op
		want string
	}{
		"send":           {&Send{c, 2, []View{v, v.RowRange(0, 2)}}, ""},
		"recv":           {&Recv{c, 0, []View{w}}, ""},
		"no group":       {&Send{nil, 0, []View{v}}, "no communicator"},
		"far":            {&Recv{c, 3, []View{v}}, "peer 3 of 3"},
		"itself":         {&Send{c, 1, []View{v}}, "itself"},
		"nothing":        {&Recv{c, 0, nil}, "0 views"},
		"too much":       {&Recv{c, 0, make([]View, MaxViews+1)}, "33 views"},
		"gaps":           {&Send{c, 0, []View{v.ColRange(0, 2)}}, "contiguous"},
		"absent":         {&Recv{c, 0, []View{{}}}, "contiguous"},
		"other type":     {&Recv{c, 0, []View{Matrix(own, 0, 1, 4, I32)}}, "fp32"},
		"private memory": {&Send{c, 0, []View{w}}, "symmetric"},
	} {
		if err := tc.op.Check(); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", what, err, tc.want)
		}
	}
	s, r := &Send{seat{"pp", 1, 3}, 2, []View{v}}, &Recv{seat{"pp", 2, 3}, 1, []View{v}}
	if s.Flow() != "pp 1>2" || r.Flow() != s.Flow() || s.Payload() != 128 || r.Payload() != 0 || r.Moved() != 128 {
		t.Errorf("%s %s %d %d", s.Flow(), r.Flow(), s.Payload(), r.Payload())
	}
}

func TestLinkTime(t *testing.T) {
	b := &Buffer{Name: "s", Bytes: 1 << 20, Symmetric: true}
	v := Matrix(b, 0, 1, 1000, F32)
	link := Link{BytesPerSecond: 1e6, Latency: time.Millisecond}
	four := seat{"tp", 0, 4}
	for what, tc := range map[string]struct {
		m    Message
		link Link
		want time.Duration
	}{
		"all-reduce":     {&Collective{four, []Part{{Send: v}}}, link, 6*time.Millisecond + 6*time.Millisecond},
		"two parts":      {&Collective{four, []Part{{Send: v}, {Kind: Broadcast, Send: v}}}, link, 6*time.Millisecond + 9*time.Millisecond},
		"gather":         {&Collective{four, []Part{{Kind: AllGather, Send: v.ColRange(0, 250), Recv: v}}}, link, 3*time.Millisecond + 3*time.Millisecond},
		"send":           {&Send{four, 1, []View{v}}, link, 5 * time.Millisecond},
		"recv":           {&Recv{four, 1, []View{v}}, link, 5 * time.Millisecond},
		"bandwidth only": {&Send{four, 1, []View{v}}, Link{BytesPerSecond: 1e6}, 4 * time.Millisecond},
		"latency only":   {&Send{four, 1, []View{v}}, Link{Latency: time.Second}, time.Second},
		"none":           {&Send{four, 1, []View{v}}, Link{}, 0},
	} {
		if got := tc.link.Time(tc.m); got != tc.want {
			t.Errorf("%s: %v, want %v", what, got, tc.want)
		}
	}
}
