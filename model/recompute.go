package model

import "boost-tui/experiment"

// Recomputation (METHOD.md §3.7). What a block does not keep lies in memory that all blocks share; its backward makes
// that anew first. Under btp, from the latents that an all-reduce completed, without any collective. What else a
// scheme must sum over the ranks again it sums again: under vanilla the outputs of q, k, v, gate and up, and in
// full recomputation every collective of the forward but that of the block's output.

// part is a class of activations that is kept, or not, as one.
type part uint8

const (
	partX2       part = iota
	partStats         // 1/rho of the norms
	partLatents       // before the activation
	partCore          // q, k, v, attention's output, gate, up and their product
	partGathered      // latents of the block before from all ranks
)

// keeps reports whether every block keeps a part for itself.
func (d *Decoder) keeps(p part) bool {
	switch d.cfg.recomputes() {
	case experiment.RecomputeLowRank:
		return p == partLatents || p == partStats || p == partX2 && d.cfg.Scheme == experiment.Vanilla
	case experiment.RecomputeFull: // the latents of lax are input of the next block
		return p == partLatents && d.cfg.Variant == experiment.LaX
	default:
		return true
	}
}

// again makes what the block did not keep.
func (b *block) again(p *pass) {
	mode := p.cfg.recomputes()
	if mode == experiment.RecomputeNone {
		return
	}
	p.prefix = "again."
	defer func() { p.prefix = "" }()
	if mode == experiment.RecomputeLowRank {
		b.upToProduct(p, fromLatents)
		b.down.gather(p, b.crossing(p, laneDown))
		return
	}
	b.upToProduct(p, fromInput)
	b.down.latents(p, flow{in: b.kept.product, latent: b.kept.latents[laneDown], next: "mlp.out"})
	b.down.gather(p, b.crossing(p, laneDown))
}
