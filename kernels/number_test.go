package kernels

import (
	"math"
	"strings"
	"testing"
)

// Of every float32 near two neighbours the nearer one is taken, of the middle the even one.
func TestToBF16(t *testing.T) {
	for _, c := range []struct {
		in   uint32
		want uint16
	}{
		{0x3f800000, 0x3f80}, {0x3f807fff, 0x3f80}, {0x3f808000, 0x3f80}, {0x3f808001, 0x3f81}, {0x3f818000, 0x3f82}, {0xbf818000, 0xbf82},
		{0x3f817fff, 0x3f81}, {0x7f7fffff, 0x7f80}, {0x7f800000, 0x7f80}, {0xff800000, 0xff80}, {0x00000000, 0}, {0x80000000, 0x8000},
		{0x00008000, 0}, {0x00018000, 2}, {0x7f800001, 0x7fc0}, {0xffffffff, 0xffff},
	} {
		if got := ToBF16(math.Float32frombits(c.in)); got != c.want {
			t.Errorf("%08x gives %04x, want %04x", c.in, got, c.want)
		}
	}
	for h := range 1 << 16 {
		f := FromBF16(uint16(h))
		if got := ToBF16(f); f == f && got != uint16(h) || f != f && FromBF16(got) == FromBF16(got) {
			t.Fatalf("%04x comes back as %04x", h, got)
		}
	}
}

// The rules of types: activations of one type, statistics and gradients of weights in F32.
func TestTypes(t *testing.T) {
	buf := &Buffer{Name: "b", Bytes: 1 << 16, Symmetric: true}
	at := func(rows, cols int, dt DType) View { return Matrix(buf, 0, rows, cols, dt) }
	f, h := func(r, c int) View { return at(r, c, F32) }, func(r, c int) View { return at(r, c, BF16) }
	for _, c := range []struct {
		op   Op
		want string // "": allowed
	}{
		{&Gemm{A: h(2, 3), B: h(3, 4), D: h(2, 4)}, ""},
		{&Gemm{A: h(2, 3), B: h(3, 4), D: f(2, 4)}, ""},
		{&Gemm{A: f(2, 3), B: h(3, 4), D: f(2, 4)}, "operand B is bf16, want fp32"},
		{&Gemm{A: f(2, 3), B: f(3, 4), D: h(2, 4)}, "operand D is bf16, want fp32"},
		{&Gemm{A: h(2, 3), B: h(3, 4), C: f(2, 4), D: h(2, 4)}, "operand C is fp32, want bf16"},
		{&Gemm{A: at(2, 3, F16), B: at(3, 4, F16), D: f(2, 4)}, "of type fp16"},
		{&Convert{X: f(2, 3), Out: h(2, 3)}, ""},
		{&Convert{X: h(2, 3), Out: f(2, 3)}, ""},
		{&Convert{X: h(2, 3), Out: at(2, 3, I32)}, "from bf16 to i32"},
		{&Convert{X: h(2, 3), Out: f(3, 2)}, "want 3x2"},
		{&NormStats{X: h(2, 4), Stat: f(2, 1)}, ""},
		{&NormStats{X: h(2, 4), Stat: h(2, 1)}, "operand Stat is bf16"},
		{&NormApply{X: h(2, 4), W: f(1, 4), Y: h(2, 4)}, "operand W is fp32"},
		{&NormBwdApply{X: h(2, 4), W: h(1, 4), RStd: f(2, 1), DY: h(2, 4), Dot: f(2, 1), DX: h(2, 4), DW: f(1, 4), Width: 4}, ""},
		{&Attention{Q: h(2, 4), K: h(2, 4), V: h(2, 4), O: h(2, 4), LSE: f(2, 1), Seq: 2, HeadDim: 4}, ""},
		{&EmbedBwd{IDs: at(2, 1, I32), DOut: h(2, 4), DTable: f(8, 4)}, ""},
		{&EmbedBwd{IDs: at(2, 1, I32), DOut: h(2, 4), DTable: h(8, 4)}, "operand DTable is bf16"},
		{&XentLoss{Logits: f(2, 4), Targets: at(2, 1, I32), Max: f(2, 1), Sum: f(2, 1), Target: f(2, 1), Loss: f(1, 1), DLogits: h(2, 4), Scale: 1}, ""},
		{&XentMax{Logits: h(2, 4), Max: f(2, 1)}, "operand Logits is bf16"},
		{&AdamW{Param: h(1, 4), M: f(1, 4), V: f(1, 4), Grad: f(1, 4), Scale: f(1, 1), Step: 1}, "operand Param is bf16"},
		{&Scatter{Values: h(1, 2), Index: at(1, 2, I32), Out: h(2, 4)}, ""},
		{&Pick{X: h(2, 4), Index: at(1, 2, I32), Out: h(1, 2)}, "operand X is bf16"},
		{&Collective{Comm: two{}, Parts: []Part{{Send: h(1, 4)}, {Send: f(1, 4)}}}, ""},
		{&Collective{Comm: two{}, Parts: []Part{{Kind: AllGather, Send: h(1, 4), Recv: f(1, 8)}}}, "of type fp32 or bf16"},
		{&Collective{Comm: two{}, Parts: []Part{{Send: at(1, 4, I32)}}}, "of type fp32 or bf16"},
		{&Send{Comm: two{}, Peer: 1, Views: []View{h(1, 4), f(1, 4)}}, ""},
		{&Recv{Comm: two{}, Peer: 1, Views: []View{at(1, 4, U8)}}, "of type fp32 or bf16"},
	} {
		err := c.op.Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%T: %v, want %q", c.op, err, c.want)
		}
	}
	c := Collective{Comm: two{}, Parts: []Part{{Send: h(3, 4)}, {Send: f(3, 1)}}}
	if c.Payload() != 3*4*2+3*4 || c.WireBytes() != c.Payload() {
		t.Errorf("payload %d, on the wire %d", c.Payload(), c.WireBytes())
	}
}

// two is a group of two.
type two struct{ Comm }

func (two) Size() int { return 2 }
func (two) Rank() int { return 0 }
