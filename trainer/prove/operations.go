package prove

import (
	"encoding/binary"
	"errors"

	"boost-tui/kernels"
)

// operations are the element-wise ones of a block and of the optimizer, on rows of the width of the model and of its latents.
func (l *lab) operations(rows, width, rank int, t kernels.DType) ([]kernels.Op, error) {
	var err error
	m := func(rows, cols int, t kernels.DType) kernels.View {
		var v kernels.View
		if err == nil {
			v, err = l.random(rows, cols, t)
		}
		return v
	}
	a, b, c, d := m(rows, width, t), m(rows, width, t), m(rows, width, t), m(rows, width, t)
	w, dw := m(1, width, t), m(1, width, kernels.F32)
	stat, dot := m(rows, 1, kernels.F32), m(rows, 1, kernels.F32)
	p, u, h := m(rows, rank, t), m(rows, rank, t), m(rows, rank, t)
	ops, fault := l.vocabulary(rows, width, t)
	if err = errors.Join(err, fault); err != nil {
		return nil, err
	}
	ops = append(ops,
		&kernels.NormStats{X: a, Stat: stat},
		&kernels.NormApply{X: a, W: w, RStd: stat, Y: b},
		&kernels.NormBwdStats{X: a, W: w, RStd: stat, DY: b, Dot: dot},
		&kernels.NormBwdApply{X: a, W: w, RStd: stat, DY: b, Dot: dot, Base: c, DX: d, DW: dw, Width: width},
		&kernels.Latent{P: p, RStd: stat, U: u, H: h, Silu: true},
		&kernels.LatentBwd{DH: h, U: u, DU: p, Dot: dot, Silu: true},
		&kernels.SwiGLU{G: a, U: b, Y: c, Silu: true},
		&kernels.SwiGLUBwd{G: a, U: b, DY: c, DG: d, DU: c, Silu: true},
		&kernels.Axpby{A: 1, B: 1, X: a, Y: b, Out: c},
		&kernels.Rope{X: a, Seq: rows, HeadDim: min(64, width), Theta: 10000},
	)
	if t != kernels.F32 {
		f := m(rows, width, kernels.F32)
		return append(ops, &kernels.Convert{X: f, Out: a}), err
	}
	one := m(1, 1, t)
	flat := func(v kernels.View) kernels.View { return v.Flat() }
	if err != nil {
		return nil, err
	}
	return append(ops, &kernels.SumSq{X: flat(a), Out: one},
		&kernels.AdamW{Param: flat(a), M: flat(b), V: flat(c), Grad: flat(d), Scale: one, LR: 1e-3, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, Step: 1}), nil
}

// vocabulary are the operations on the vocabulary: the embedding's, whose rows are each taken about once, and cross-entropy's.
func (l *lab) vocabulary(rows, width int, t kernels.DType) ([]kernels.Op, error) {
	words := rows * 32000 / 32768 // of the paper's models, where there are as many rows as in a measurement
	scores := rows / 8            // whose logits take 0.5 GB
	table, err1 := l.random(words, width, t)
	out, err2 := l.random(rows, width, t)
	grad, err3 := l.zeros(words, width, kernels.F32)
	ids, err4 := l.ids(rows, words)
	logits, err5 := l.random(scores, words, kernels.F32)
	back, err6 := l.zeros(scores, words, t)
	err := errors.Join(err1, err2, err3, err4, err5, err6)
	var one [4]kernels.View // largest, sum, target, loss
	for i := range one {
		v, fault := l.zeros(scores, 1, kernels.F32)
		one[i], err = v, errors.Join(err, fault)
	}
	if err != nil {
		return nil, err
	}
	loss := one[3].RowRange(0, 1)
	targets := ids.RowRange(0, scores)
	ops := []kernels.Op{&kernels.Embed{IDs: ids, Table: table, Out: out}, &kernels.EmbedBwd{IDs: ids, DOut: out, DTable: grad}}
	for _, op := range []kernels.Op{
		&kernels.XentMax{Logits: logits, Max: one[0]},
		&kernels.XentSum{Logits: logits, Targets: targets, Max: one[0], Sum: one[1], Target: one[2]},
	} {
		if t == kernels.F32 { // logits are never anything else
			ops = append(ops, op)
		}
		if err := l.dev.Do(kernels.Call{}, op); err != nil {
			return nil, err
		}
	}
	return append(ops, &kernels.XentLoss{Logits: logits, Targets: targets, Max: one[0], Sum: one[1], Target: one[2], Loss: loss, DLogits: back,
		Scale: 1 / float32(scores)}), nil
}

// ids are numbers of words, every word about as often as the others and neighbours far apart.
func (l *lab) ids(rows, words int) (kernels.View, error) {
	const stride = 12289 // prime
	host := &kernels.Host{Bytes: make([]byte, 4*rows)}
	for i := range rows {
		binary.NativeEndian.PutUint32(host.Bytes[4*i:], uint32(i*stride%words))
	}
	v, err := l.zeros(rows, 1, kernels.I32)
	if err != nil {
		return v, err
	}
	return v, l.dev.Do(kernels.Call{}, &kernels.Upload{Src: host, Dst: v})
}
