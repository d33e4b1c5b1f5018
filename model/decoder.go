package model

import (
	"fmt"

	"boost-tui/experiment"
	"boost-tui/kernels"
)

// Decoder is one rank's part of the model on a device, with the activations of one micro-batch.
type Decoder struct {
	cfg   Config
	dims  dims
	stage Stage
	dev   kernels.Device
	tp    kernels.Comm // nil: one rank

	blocks      []block // of the stage
	behind      *block  // what is there of the block before them: its latents, where they cross
	turns       turns
	finalNorm   norm
	table, head tensor
	params      []Param
	byName      map[string]int

	// Of the micro-batch whose turn it is.
	ids, targets kernels.View // tokens, [T, 1]
	last         kernels.View // output of the last block
	finalStat    kernels.View

	shared  kept         // what blocks do not keep each for itself (recompute.go)
	logits  kernels.View // F32
	dlogits kernels.View // their gradient; in F32 it takes their place
	lossOut kernels.View
	work    work

	arenas  arenas
	staging *kernels.Host
	masters []Master
}

// tensor is a weight and its gradient.
type tensor struct{ weight, grad kernels.View }

// work is memory that every block uses anew.
type work struct {
	z, hidden, dlatent kernels.View
	before, crossed    kernels.View // lax: activated latents of the block before; a gradient with its carry
	scattered          kernels.View // lax, dense gates, vanilla: gradients of everyone's latents
	carry              lanes        // lax: gradients of the latents of the block before
	rows, drows        kernels.View // sequence parallelism: the rank's tokens of a norm's output or a sum, and of a gradient
	operator           kernels.View // sltrain: a sparse matrix made dense, or its gradient
	out                kernels.View // partial sums of o and down
	dx, din            kernels.View // gradient of the residual stream, and of a group's input
	dins               bundle       // vanilla, ungrouped: one input gradient per linear; the first is din
	dattn, dproduct    kernels.View
	dqkv               bundle
	heads              kernels.View
	dot, dotMore       kernels.View
	part, parts, full  kernels.View // head input under btp: mine, everyone's, in order
	top                kernels.View
	sums               bundle
}

// New allocates the rank's part of the decoder. tp is the tensor-parallel communicator, nil for one rank.
// Weights are zero until Initialize or Load.
func New(cfg Config, dev kernels.Device, tp kernels.Comm) (*Decoder, error) {
	return NewStage(cfg, dev, tp, Stage{})
}

// NewStage is New of one stage of a pipeline.
func NewStage(cfg Config, dev kernels.Device, tp kernels.Comm, stage Stage) (*Decoder, error) {
	size, rank := 1, 0
	if tp != nil {
		size, rank = tp.Size(), tp.Rank()
	}
	if err := cfg.Validate(size); err != nil {
		return nil, err
	}
	if err := stage.validate(cfg.Layers); err != nil {
		return nil, err
	}
	lo, hi := stage.blocks(cfg.Layers)
	d := &Decoder{cfg: cfg, dims: dimsOf(cfg, size, rank), stage: stage, dev: dev, tp: tp, blocks: make([]block, hi-lo), byName: map[string]int{}}
	d.describe()
	if err := d.allocate(); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	d.listParams()
	return d, nil
}

// Tokens are the views that a micro-batch's inputs and targets are uploaded to: token ids, I32, [Batch·Seq, 1]. The
// inputs belong to the first stage and the targets to the last; they are absent elsewhere.
func (d *Decoder) Tokens(micro int) (ids, targets kernels.View) {
	f := &d.turns.flights[micro%len(d.turns.flights)]
	return f.ids, f.targets
}

// Loss is where Forward adds each micro-batch's share of the step's mean loss in nats, 1x1. Begin sets it to zero, and but for
// the last stage it stays so. Over replicas the shares add up to the mean.
func (d *Decoder) Loss() kernels.View { return d.lossOut }

func (d *Decoder) headDim() int { return d.cfg.D / d.cfg.Heads }

// describe fixes the groups' names, placements and sizes, and what crosses between blocks.
func (d *Decoder) describe() {
	c, m := d.cfg, d.dims
	newNorm := func(name string) norm { return norm{name: name, split: m.split, online: !c.SyncNorm} }
	first, _ := d.stage.blocks(c.Layers)
	if !d.stage.First() {
		d.behind = &block{layer: first - 1}
	}
	before := d.behind
	for i := range d.blocks {
		b, l := &d.blocks[i], first+i
		b.layer, b.attnNorm, b.mlpNorm = l, newNorm("attn_norm"), newNorm("mlp_norm")
		b.qkv = d.group(l, "qkv", true, m.res, m.attn, c.RankAttn, "q", "k", "v")
		b.o = d.group(l, "o", false, m.attn, m.res, c.RankAttn, "o")
		b.gateUp = d.group(l, "gate_up", true, m.res, m.ff, c.RankMLP, "gate", "up")
		b.down = d.group(l, "down", false, m.ff, m.res, c.RankMLP, "down")
		b.last = l+1 == c.Layers
		if d.crosses() {
			b.before = before
		}
		before = b
	}
	d.finalNorm = newNorm("final_norm")
	d.finalNorm.online = false // its statistic has no latent to ride with
}

// group describes linears of block l; in and out are the rank's own widths, rank is global.
func (d *Decoder) group(l int, name string, inner bool, in, out, rank int, names ...string) group {
	c := d.cfg
	g := group{name: name, place: place(c.Scheme, inner), in: in, out: out, dense: c.dense(), silu: c.latentSilu(), scale: 1}
	if c.factors() {
		lo, hi := d.dims.span(rank, g.place.rank)
		g.rank = hi - lo
		if g.dense {
			g.scale = float32(c.Alpha / float64(rank))
		}
	}
	if c.Variant == experiment.LaX {
		g.gate = gate{kind: c.Gate, gathers: c.Gate == experiment.GateDense && g.place.rank && d.dims.tp > 1}
	}
	for i, n := range names {
		g.names = append(g.names, fmt.Sprintf("layers.%d.%s", l, n))
		if !c.Grouped {
			g.units = append(g.units, unit{n, i, i + 1})
		}
	}
	if c.Grouped {
		g.units = []unit{{name, 0, len(names)}}
	}
	if c.Variant == experiment.SLTrain {
		g.sparse = make([]sparse, len(names))
	}
	return g
}

// Begin starts a step: it clears what the micro-batches add to. The linears' gradients need no clearing, the
// first micro-batch overwrites them.
func (d *Decoder) Begin(x *kernels.Exec) {
	x.Phase(kernels.Forward, 0)
	x.At(-1, "begin")
	x.Do("loss.zero", &kernels.Fill{X: d.lossOut})
	x.Do("gradients.zero", &kernels.Fill{X: d.arenas.added})
}

// Forward runs micro-batch micro of the step: the stage's blocks on what has arrived for it, or on its tokens. The last stage
// adds to Loss and leaves the logits' gradient for Backward.
func (d *Decoder) Forward(x *kernels.Exec, micro int) {
	d.turn(micro)
	p := &pass{Decoder: d, x: x, micro: micro}
	x.Phase(kernels.Forward, micro)
	if d.stage.First() {
		p.embed(d.blocks[0].kept.x)
	}
	for l := range d.blocks {
		d.blocks[l].forward(p, d.output(l))
	}
	if d.stage.Last() {
		p.headForward(d.last)
		p.loss()
	}
}

// What of the gradients is complete when Backward calls done, beside those of blocks.
const (
	DoneHead = 1 << 30 // the head's
	DoneAll  = -1      // everything: with the embedding's, those of all norms and vectors
)

// doneMLP and doneAttn are that of a block's two halves.
func doneMLP(layer int) int  { return 2*layer + 1 }
func doneAttn(layer int) int { return 2 * layer }

// Backward adds the gradients of a micro-batch whose Forward ran. Micro-batches go backward in the order in which they went
// forward; without other stages each before the next goes forward. With the last micro-batch of the step done is
// called, when it is there, as gradients become complete: with ever smaller numbers, as Regions have them.
func (d *Decoder) Backward(x *kernels.Exec, micro int, done func(what int)) {
	d.turn(micro)
	p := &pass{Decoder: d, x: x, micro: micro}
	x.Phase(kernels.Backward, micro)
	if done == nil || micro+1 < d.cfg.Micros {
		done = func(int) {}
	}
	if d.stage.Last() {
		p.headBackward(d.last)
		done(DoneHead)
	}
	halves := done // of blocks; later where gradients must be summed over the ranks first
	if d.partialFactors() {
		halves = func(int) {}
	}
	var under kernels.Pending
	for l := len(d.blocks) - 1; l >= 0; l-- {
		d.blocks[l].backward(p, halves)
		under.Wait()
		if d.partialFactors() && l+1 < len(d.blocks) {
			done(doneAttn(d.blocks[l+1].layer))
		}
		under = d.blocks[l].sumFactors(p)
	}
	if d.stage.First() {
		p.embedBackward()
	}
	norms := p.sumNorms()
	under.Wait()
	norms.Wait()
	done(DoneAll)
}

// output is where block l of the stage puts its result.
func (d *Decoder) output(l int) kernels.View {
	if l+1 < len(d.blocks) {
		return d.blocks[l+1].kept.x
	}
	return d.last
}
