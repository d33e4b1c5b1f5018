package model

import "boost-tui/experiment"

// placement says which dimensions of a linear y = x W^T, or y = (x A^T) B^T, are split over the ranks.
// Where its collectives sit follows from it: contracting a split dimension leaves partial sums.
//
//	          split      forward              backward
//	column    out        none                 input gradient (contracts out)
//	row       in         output               none
//	vanilla   rank       output               input gradient (contracts rank)
//	btp       in, out    latent               latent's gradient (contracts out)
type placement struct{ in, rank, out bool }

// The placements of METHOD.md §3.1-3.3.
var (
	column     = placement{out: true}
	row        = placement{in: true}
	onRank     = placement{rank: true}
	bottleneck = placement{in: true, out: true}
)

// place is the placement of a group of linears. Outputs of q, k, v, gate, up are what o and down take.
func place(s experiment.Scheme, inner bool) placement {
	switch {
	case s == experiment.Vanilla:
		return onRank
	case s == experiment.BTP:
		return bottleneck
	case inner:
		return column
	default:
		return row
	}
}

// dims are a rank's own sizes.
type dims struct {
	tp, rank int
	rows     int // tokens of a micro-batch
	stream   int // tokens of the residual stream: its rows
	res      int // width of the residual stream
	attn     int // width of q, k, v and the attention's output
	heads    int
	ff       int
	vocab    int
	split    bool // the residual stream is split on d
}

func dimsOf(c Config, tp, rank int) dims {
	m := dims{tp: tp, rank: rank, rows: c.Rows(), stream: c.Rows(), res: c.D, attn: c.D / tp, heads: c.Heads / tp, ff: c.FF / tp, vocab: c.Vocab / tp}
	switch c.Scheme {
	case experiment.BTP:
		m.res, m.split = c.D/tp, true
	case experiment.Vanilla: // every all-reduce gives a full output, so the core runs on every rank
		m.attn, m.heads, m.ff = c.D, c.Heads, c.FF
	}
	if c.SP {
		m.stream = c.Rows() / tp
	}
	return m
}

// span is the rank's part [lo, hi) of n, or all of it.
func (m dims) span(n int, split bool) (lo, hi int) {
	if !split {
		return 0, n
	}
	return m.rank * n / m.tp, (m.rank + 1) * n / m.tp
}
