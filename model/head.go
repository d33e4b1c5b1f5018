package model

import "boost-tui/kernels"

// embed makes the first block's input. Under btp the table is split on d and nothing is communicated; else it
// is split on the vocabulary (METHOD.md §3.4).
func (p *pass) embed(out kernels.View) {
	p.at(-1, "embed")
	to := p.summed(out, p.work.out)
	p.x.Do("embed", &kernels.Embed{IDs: p.ids, Table: p.table.weight, Out: to, First: p.firstToken()})
	if !p.dims.split {
		p.complete("embed", to, out).Wait()
	}
}

func (p *pass) embedBackward() {
	p.at(-1, "embed")
	p.x.Do("embed.back", &kernels.EmbedBwd{IDs: p.ids, DOut: p.wholeGradient("embed.dy"), DTable: p.table.grad, First: p.firstToken()})
}

// firstToken is where the rank's rows of the embedding begin.
func (p *pass) firstToken() int {
	lo, _ := p.dims.span(p.cfg.Vocab, !p.dims.split)
	return lo
}

// firstLogit is where the rank's part of the vocabulary begins in the head.
func (p *pass) firstLogit() int {
	lo, _ := p.dims.span(p.cfg.Vocab, true)
	return lo
}

// gathered reports whether the head's input is put together from the ranks' parts.
func (p *pass) gathered() bool { return p.dims.split && p.dims.tp > 1 }

// headForward makes the logits of the rank's part of the vocabulary.
func (p *pass) headForward(in kernels.View) {
	w := &p.work
	p.at(-1, "head")
	p.finalNorm.forward(p, in, p.finalStat)
	if p.gathered() {
		p.x.Do("head.part", &kernels.Copy{Src: w.z, Dst: w.part})
		p.x.Start("head", p.tp, kernels.Part{Kind: kernels.AllGather, Send: w.part, Recv: w.parts}).Wait()
		for i := range p.dims.tp {
			p.x.Do("head.turn", &kernels.Copy{Src: p.partOf(i), Dst: w.full.ColRange(i*p.dims.res, (i+1)*p.dims.res)})
		}
	}
	p.x.Do("head.W", &kernels.Gemm{TransB: true, Alpha: 1, A: p.headInput(), B: p.head.weight, D: p.logits})
}

func (p *pass) headInput() kernels.View {
	if p.gathered() {
		return p.work.full
	}
	return p.work.z
}

// partOf is rank i's columns of the head's input or of its gradient.
func (p *pass) partOf(i int) kernels.View {
	return p.work.parts.RowRange(i*p.dims.rows, (i+1)*p.dims.rows)
}

// loss adds the micro-batch's share of the mean loss and turns the logits into their gradient, in place where both are F32
// (METHOD.md §3.4: two small all-reduces, whatever the vocabulary).
func (p *pass) loss() {
	w := &p.work
	p.at(-1, "loss")
	p.x.Do("max", &kernels.XentMax{Logits: p.logits, Max: w.top})
	p.x.Start("loss.max", p.tp, kernels.Part{Kind: kernels.AllReduce, Reduce: kernels.Max, Send: w.top}).Wait()
	p.x.Do("sum", &kernels.XentSum{Logits: p.logits, Targets: p.targets, Max: w.top, Sum: w.sums.part(0), Target: w.sums.part(1),
		First: p.firstLogit()})
	p.x.Reduce("loss.sum", p.tp, w.sums.all)
	p.x.Do("loss", &kernels.XentLoss{Logits: p.logits, Targets: p.targets, Max: w.top, Sum: w.sums.part(0), Target: w.sums.part(1),
		Loss: p.lossOut, DLogits: p.dlogits, First: p.firstLogit(), Scale: 1 / float32(p.dims.rows*p.cfg.Micros*max(p.cfg.Replicas, 1))})
}

// headBackward takes the logits' gradient and leaves that of the last block's output in p.work.dx.
func (p *pass) headBackward(in kernels.View) {
	w := &p.work
	p.at(-1, "head")
	dz := w.din
	var under kernels.Pending
	if p.gathered() {
		dz = w.part
		for i := range p.dims.tp {
			cols := p.head.weight.ColRange(i*p.dims.res, (i+1)*p.dims.res)
			p.x.Do("head.dx", &kernels.Gemm{Alpha: 1, A: p.dlogits, B: cols, D: p.partOf(i)})
		}
		under = p.x.Start("head", p.tp, kernels.Part{Kind: kernels.ReduceScatter, Send: w.parts, Recv: w.part})
	} else {
		p.x.Do("head.dx", &kernels.Gemm{Alpha: 1, A: p.dlogits, B: p.head.weight, D: dz})
		under, dz = p.complete("head", dz, w.drows), p.summed(dz, w.drows)
	}
	p.x.Do("head.dW", &kernels.Gemm{TransA: true, Alpha: 1, Beta: p.accumulate(), A: p.dlogits, B: p.headInput(), D: p.head.grad})
	under.Wait()
	p.finalNorm.backward(p, in, p.finalStat, dz, true)
}
