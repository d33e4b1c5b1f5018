package model

import (
	"math"

	"boost-tui/kernels"
)

// block is one decoder block: weights and what its forward keeps for its backward (METHOD.md §3.8).
type block struct {
	layer             int
	attnNorm, mlpNorm norm
	qkv, o, gateUp    group
	down              group
	kept              kept
	before            *block // whose latents cross into this one's (lax); nil: none do
	last              bool   // no block after it takes its latents
}

// groups in the order of the forward.
func (b *block) groups() []*group { return []*group{&b.qkv, &b.o, &b.gateUp, &b.down} }

// kept is a block's activations of one micro-batch. Norm outputs and activated latents are made again, and so is
// what lies in memory that all blocks share (recompute.go).
type kept struct {
	x, x2        kernels.View // residual stream before attention and before the MLP, [T, res]
	stat1, stat2 kernels.View // 1/rho of the norms, [T, 1]
	qkv          bundle       // q and k after rope
	attn, lse    kernels.View
	gateUp       bundle
	product      kernels.View
	latents      lanes
	gathered     [4]kernels.View // lax, dense gates, vanilla: the latents of the block before, every rank's
}

// lanes are one bundle for each group of a block, in the order of groups.
type lanes [4]bundle

// Lanes of a block's groups.
const (
	laneQKV = iota
	laneO
	laneGateUp
	laneDown
)

// pass is one forward or backward of a micro-batch.
type pass struct {
	*Decoder
	x      *kernels.Exec
	micro  int
	layer  int
	prefix string // of chunks
}

func (p *pass) at(layer int, chunk string) {
	p.layer = layer
	p.x.At(layer, p.prefix+chunk)
}

// chunk begins the next chunk of the same block.
func (p *pass) chunk(name string) { p.x.At(p.layer, p.prefix+name) }

// accumulate is the factor of the weight gradients that are there: the first micro-batch overwrites them.
func (p *pass) accumulate() float32 { return after(p.micro) }

func (p *pass) scale() float32 { return float32(1 / math.Sqrt(float64(p.headDim()))) }

// source is where a run of a block begins.
type source uint8

const (
	fromInput   source = iota
	fromLatents        // which were kept, complete: nothing is projected down again
)

// forward takes kept.x and writes the next block's.
func (b *block) forward(p *pass, out kernels.View) {
	b.upToProduct(p, fromInput)
	b.down.forward(p, flow{in: b.kept.product, latent: b.kept.latents[laneDown], out: single(out), base: b.kept.x2, next: "mlp.out", cross: b.crossing(p, laneDown)})
}

// upToProduct is the forward up to what the down-projection of the MLP takes.
func (b *block) upToProduct(p *pass, from source) {
	k, hd := &b.kept, p.headDim()
	p.at(b.layer, "attn.in")
	var ride kernels.View
	if from == fromInput {
		ride = b.attnNorm.forward(p, k.x, k.stat1)
	}
	b.qkv.forward(p, flow{from: from, in: p.work.z, ride: ride, latent: k.latents[laneQKV], out: k.qkv, next: "attn.core", cross: b.crossing(p, laneQKV)})
	qk := k.qkv.span(unit{lo: 0, hi: 2})
	p.x.Do("rope", &kernels.Rope{X: qk, Seq: p.cfg.Seq, HeadDim: hd, Theta: p.cfg.Theta})
	p.x.Do("attention", &kernels.Attention{Q: k.qkv.part(0), K: k.qkv.part(1), V: k.qkv.part(2), O: k.attn, LSE: k.lse,
		Seq: p.cfg.Seq, HeadDim: hd, Scale: p.scale()})
	if from == fromLatents && p.keeps(partX2) {
		b.o.gather(p, b.crossing(p, laneO))
	} else {
		b.o.forward(p, flow{from: from, in: k.attn, latent: k.latents[laneO], out: single(k.x2), base: k.x, next: "attn.out", cross: b.crossing(p, laneO)})
	}
	p.chunk("mlp.in")
	ride = kernels.View{}
	if from == fromInput {
		ride = b.mlpNorm.forward(p, k.x2, k.stat2)
	}
	b.gateUp.forward(p, flow{from: from, in: p.work.z, ride: ride, latent: k.latents[laneGateUp], out: k.gateUp, next: "mlp.core", cross: b.crossing(p, laneGateUp)})
	p.x.Do("swiglu", &kernels.SwiGLU{G: k.gateUp.part(0), U: k.gateUp.part(1), Y: k.product, Silu: !p.cfg.PlainGLU})
}

// backward takes the gradient of the block's output in p.work.dx and leaves that of its input there. It calls done when
// the linears of a half have their gradients.
func (b *block) backward(p *pass, done func(what int)) {
	b.again(p)
	k, w := &b.kept, &p.work
	p.at(b.layer, "mlp.out")
	b.down.backward(p, reverse{dy: single(p.wholeGradient("down.dy")), latent: k.latents[laneDown], input: have(k.product), din: w.dproduct, next: "mlp.core", cross: b.crossing(p, laneDown)})
	gate, up := k.gateUp.part(0), k.gateUp.part(1)
	p.x.Do("swiglu.back", &kernels.SwiGLUBwd{G: gate, U: up, DY: w.dproduct, DG: gate, DU: up, Silu: !p.cfg.PlainGLU})
	b.gateUp.backward(p, reverse{dy: k.gateUp, latent: k.latents[laneGateUp], input: b.mlpNorm.again(p, k.x2, k.stat2),
		din: w.din, dot: b.mlpNorm.wanted(p), next: "mlp.in", cross: b.crossing(p, laneGateUp)})
	done(doneMLP(b.layer))
	b.mlpNorm.backward(p, k.x2, k.stat2, p.summed(w.din, w.drows), false)

	p.chunk("attn.out")
	b.o.backward(p, reverse{dy: single(p.wholeGradient("o.dy")), latent: k.latents[laneO], input: have(k.attn), din: w.dattn, next: "attn.core", cross: b.crossing(p, laneO)})
	b.attentionBackward(p)
	b.qkv.backward(p, reverse{dy: w.dqkv, latent: k.latents[laneQKV], input: b.attnNorm.again(p, k.x, k.stat1),
		din: w.din, dot: b.attnNorm.wanted(p), next: "attn.in", cross: b.crossing(p, laneQKV)})
	done(doneAttn(b.layer))
	b.attnNorm.backward(p, k.x, k.stat1, p.summed(w.din, w.drows), false)
}

func (b *block) attentionBackward(p *pass) {
	k, w, hd := &b.kept, &p.work, p.headDim()
	p.x.Do("attention.back", &kernels.AttentionBwd{Q: k.qkv.part(0), K: k.qkv.part(1), V: k.qkv.part(2), O: k.attn, LSE: k.lse,
		DO: w.dattn, DQ: w.dqkv.part(0), DK: w.dqkv.part(1), DV: w.dqkv.part(2), Work: w.heads,
		Seq: p.cfg.Seq, HeadDim: hd, Scale: p.scale()})
	p.x.Do("rope.back", &kernels.Rope{X: w.dqkv.span(unit{lo: 0, hi: 2}), Seq: p.cfg.Seq, HeadDim: hd, Theta: p.cfg.Theta, Inverse: true})
}

// have is an input that was kept.
func have(v kernels.View) func() kernels.View { return func() kernels.View { return v } }
