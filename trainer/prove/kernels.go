package prove

import (
	"context"
	"errors"
	"fmt"
	"math"

	"boost-tui/kernels"
)

// Attention is how fast causal attention is in bf16. FLOPs as of METHOD.md §3.9: scores above the diagonal do not count, those that the
// backward makes anew neither.
type Attention struct {
	Mark
	Card    string         `json:"card"`
	Rows    []AttentionRow `json:"rows"`
	LeftOut []string       `json:"left_out,omitempty"`
}

// AttentionRow is one shape.
type AttentionRow struct {
	Seq             int     `json:"seq"`
	Heads           int     `json:"heads"`
	HeadDim         int     `json:"head_dim"`
	ForwardSeconds  float64 `json:"forward_s"`
	BackwardSeconds float64 `json:"backward_s"`
	ForwardTFLOPS   float64 `json:"forward_tflops"`
	BackwardTFLOPS  float64 `json:"backward_tflops"`
}

// attention measures one sequence under the heads of 1b, 7b and a head of 96, which no tensor-core kernel of ours takes.
func (b *bench) attention(ctx context.Context) (out Attention, err error) {
	l, err := b.openLab()
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, l.dev.Close()) }()
	out.Mark, out.Card = b.mark(), l.dev.Info().Name
	for _, s := range [][2]int{{32, 64}, {32, 128}, {8, 96}} {
		r := AttentionRow{Seq: b.pick(4096, 64), Heads: b.pick(s[0], 1), HeadDim: s[1]}
		if b.late() {
			out.LeftOut = append(out.LeftOut, fmt.Sprintf("%d heads of %d", r.Heads, r.HeadDim))
			continue
		}
		if err := l.attention(ctx, &r); err != nil {
			return out, fmt.Errorf("%d heads of %d: %w", r.Heads, r.HeadDim, err)
		}
		out.Rows = append(out.Rows, r)
	}
	return out, nil
}

func (l *lab) attention(ctx context.Context, r *AttentionRow) (err error) {
	defer func() { err = errors.Join(err, l.free()) }()
	var m [8]kernels.View // Q K V O DO DQ DK DV
	for i := range m {
		if m[i], err = l.random(r.Seq, r.Heads*r.HeadDim, kernels.BF16); err != nil {
			return err
		}
	}
	lse, err := l.zeros(r.Seq, r.Heads, kernels.F32)
	if err != nil {
		return err
	}
	work, err := l.zeros(r.Seq, r.Heads, kernels.F32)
	if err != nil {
		return err
	}
	scale := float32(1 / math.Sqrt(float64(r.HeadDim)))
	there := &kernels.Attention{Q: m[0], K: m[1], V: m[2], O: m[3], LSE: lse, Seq: r.Seq, HeadDim: r.HeadDim, Scale: scale}
	back := &kernels.AttentionBwd{Q: m[0], K: m[1], V: m[2], O: m[3], LSE: lse, DO: m[4], DQ: m[5], DK: m[6], DV: m[7], Work: work,
		Seq: r.Seq, HeadDim: r.HeadDim, Scale: scale}
	if r.ForwardSeconds, err = l.time(ctx, there); err != nil {
		return err
	}
	if r.BackwardSeconds, err = l.time(ctx, back); err != nil {
		return err
	}
	r.ForwardTFLOPS, r.BackwardTFLOPS = tera(there.FLOPs(), r.ForwardSeconds), tera(back.FLOPs(), r.BackwardSeconds)
	return nil
}

// Elements is how fast what moves memory is, beside a copy.
type Elements struct {
	Mark
	Card    string       `json:"card"`
	CopyGBs float64      `json:"copy_gb_s"` // read and written
	Rows    []ElementRow `json:"rows"`
	LeftOut []string     `json:"left_out,omitempty"`
}

// ElementRow is one operation. Bytes counts every operand once for each access.
type ElementRow struct {
	Op      string  `json:"op"`
	Type    string  `json:"type"`
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
	GBs     float64 `json:"gb_s"`
	Share   float64 `json:"share_of_copy"`
}

// elements measures operations on matrices that no cache holds, as wide as those of 1b.
func (b *bench) elements(ctx context.Context) (out Elements, err error) {
	l, err := b.openLab()
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, l.dev.Close()) }()
	out.Mark, out.Card = b.mark(), l.dev.Info().Name
	n := b.pick(1<<28, 1<<10)
	x, err := l.random(1, n, kernels.BF16)
	if err != nil {
		return out, err
	}
	y, err := l.zeros(1, n, kernels.BF16)
	if err != nil {
		return out, err
	}
	r, err := l.element(ctx, &kernels.Copy{Src: x, Dst: y}, kernels.BF16)
	if err = errors.Join(err, l.free()); err != nil {
		return out, err
	}
	out.CopyGBs = r.GBs
	for _, t := range []kernels.DType{kernels.BF16, kernels.F32} {
		ops, err := l.operations(b.pick(32768, 16), b.pick(2048, 32), b.pick(512, 8), t)
		if err != nil {
			return out, err
		}
		for i, op := range ops {
			if b.late() {
				out.LeftOut = append(out.LeftOut, fmt.Sprintf("%d operations in %s", len(ops)-i, t))
				break
			}
			r, err := l.element(ctx, op, t)
			if err != nil {
				return out, err
			}
			if out.CopyGBs > 0 {
				r.Share = r.GBs / out.CopyGBs
			}
			out.Rows = append(out.Rows, r)
		}
		if err := l.free(); err != nil {
			return out, err
		}
	}
	return out, nil
}

func (l *lab) element(ctx context.Context, op kernels.Op, t kernels.DType) (ElementRow, error) {
	r := ElementRow{Op: op.Name(), Type: t.String()}
	kernels.EachOperand(op, func(o kernels.Operand) {
		for _, a := range []kernels.Access{kernels.Read, kernels.Write} {
			if o.Access&a != 0 {
				r.Bytes += o.View.Bytes()
			}
		}
	})
	var err error
	if r.Seconds, err = l.time(ctx, op); err == nil && r.Seconds > 0 {
		r.GBs = float64(r.Bytes) / r.Seconds / 1e9
	}
	return r, err
}
