package model

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"boost-tui/experiment"
	"boost-tui/kernels"
)

// Param is one parameter tensor and the rectangle of it that this rank holds. Names are METHOD.md §5's; a vector is one row.
type Param struct {
	Name                       string
	Rows, Cols                 int // of the whole tensor
	RowLo, RowHi, ColLo, ColHi int // this rank's part
	Replicated                 bool
	Weight, Grad               kernels.View // the part; Grad is absent where the parameter is frozen
	// Picks, where they are there, are the columns of the whole that the part holds instead of a rectangle: the values of a
	// sparse matrix whose elements lie in the rank's part of it. They are known once the support is.
	Picks []int64
	// Places, as many, are where those elements lie in the whole sparse matrix, row by row.
	Places []int64
	sparse *holding
}

// Sparse reports whether the parameter is the values of a sparse matrix, of which Picks and Places tell more. Before its support is
// known, Weight is the room that there is for them.
func (p *Param) Sparse() bool { return p.sparse != nil }

// Global is the place in the whole tensor, row by row, of element i of the part.
func (p *Param) Global(i int64) int64 {
	if p.sparse != nil {
		return p.Picks[i]
	}
	width := int64(p.ColHi - p.ColLo)
	return (int64(p.RowLo)+i/width)*int64(p.Cols) + int64(p.ColLo) + i%width
}

// Params lists the rank's parameters in a fixed order. The caller does not change it.
func (d *Decoder) Params() []Param { return d.params }

// Param finds a parameter by name.
func (d *Decoder) Param(name string) (Param, error) {
	i, ok := d.byName[name]
	if !ok {
		return Param{}, fmt.Errorf("model: no parameter %q in variant %s", name, d.cfg.Variant)
	}
	return d.params[i], nil
}

func (d *Decoder) listParams() {
	c, m := d.cfg, d.dims
	if d.stage.First() {
		d.add("embed.weight", c.Vocab, c.D, !m.split, m.split, d.table.weight, d.table.grad)
	}
	if d.stage.Last() {
		d.add("lm_head.weight", c.Vocab, c.D, true, false, d.head.weight, d.head.grad)
		d.add("final_norm.weight", 1, c.D, false, m.split, d.finalNorm.gamma, d.finalNorm.dgam)
	}
	for i := range d.blocks {
		b := &d.blocks[i]
		l := b.layer
		d.add(fmt.Sprintf("layers.%d.attn_norm.weight", l), 1, c.D, false, m.split, b.attnNorm.gamma, b.attnNorm.dgam)
		d.add(fmt.Sprintf("layers.%d.mlp_norm.weight", l), 1, c.D, false, m.split, b.mlpNorm.gamma, b.mlpNorm.dgam)
		d.addGroup(&b.qkv, c.D, c.D, c.RankAttn)
		d.addGroup(&b.o, c.D, c.D, c.RankAttn)
		d.addGroup(&b.gateUp, c.D, c.FF, c.RankMLP)
		d.addGroup(&b.down, c.FF, c.D, c.RankMLP)
	}
}

// addGroup lists a group's linears; in, out and rank are global.
func (d *Decoder) addGroup(g *group, in, out, rank int) {
	for i, name := range g.names {
		u := unit{lo: i, hi: i + 1}
		switch {
		case g.sparse != nil:
			d.addSparse(name, g, &g.sparse[i], in, out)
		case g.dense && g.dw.IsZero():
			d.add(name+".weight", out, in, g.place.out, g.place.in, g.rowsOf(g.w, u), kernels.View{})
		case g.dense:
			d.add(name+".weight", out, in, g.place.out, g.place.in, g.rowsOf(g.w, u), g.rowsOf(g.dw, u))
		}
		if g.rank > 0 {
			d.add(name+".A", rank, in, g.place.rank, g.place.in, g.rowsOf(g.a, u), g.rowsOf(g.da, u))
			d.add(name+".B", out, rank, g.place.out, g.place.rank, g.rowsOf(g.b, u), g.rowsOf(g.db, u))
		}
		switch {
		case g.gate.v.IsZero():
		case g.gate.kind == experiment.GateVector:
			d.add(name+".lax_gate", 1, rank, false, g.place.rank, g.gateOf(g.gate.v, u), g.gateOf(g.gate.dv, u))
		default:
			d.add(name+".lax_gate", rank, rank, g.place.rank, false, g.rowsOf(g.gate.v, u), g.rowsOf(g.gate.dv, u))
		}
	}
}

// addSparse lists the values of a sparse matrix. Which ones the rank holds is known with the support.
func (d *Decoder) addSparse(name string, g *group, s *sparse, in, out int) {
	h := &holding{sparse: *s, rows: out, cols: in}
	h.rowLo, h.rowHi = d.dims.span(out, g.place.out)
	h.colLo, h.colHi = d.dims.span(in, g.place.in)
	p := Param{Name: name + ".sparse_value", Rows: 1, Cols: d.cfg.nonzeros(out, in), RowHi: 1, Weight: s.value, Grad: s.dvalue, sparse: h}
	p.ColHi = p.Cols
	d.byName[p.Name] = len(d.params)
	d.params = append(d.params, p)
}

func (d *Decoder) add(name string, rows, cols int, splitRows, splitCols bool, w, g kernels.View) {
	p := Param{Name: name, Rows: rows, Cols: cols, Replicated: d.dims.tp > 1 && !splitRows && !splitCols, Weight: w, Grad: g}
	p.RowLo, p.RowHi = d.dims.span(rows, splitRows)
	p.ColLo, p.ColHi = d.dims.span(cols, splitCols)
	d.byName[name] = len(d.params)
	d.params = append(d.params, p)
}

// stagingBytes is the host memory that weights pass through.
const stagingBytes = 1 << 20

// Load sets a parameter from the whole tensor, row-major; the rank takes its part.
func (d *Decoder) Load(ctx context.Context, name string, global []float32) error {
	p, err := d.Param(name)
	if err != nil {
		return err
	}
	if len(global) != p.Rows*p.Cols {
		return fmt.Errorf("model: %s has %d elements, want %dx%d", name, len(global), p.Rows, p.Cols)
	}
	return d.set(ctx, p, func(i int64) float32 { return global[i] })
}

// set uploads f of the global indices of the rank's part, piece by piece.
func (d *Decoder) set(ctx context.Context, p Param, f func(global int64) float32) error {
	return d.setPart(ctx, p, func(i int64) float32 { return f(p.Global(i)) })
}

// ReadWeight is the rank's part of a weight, as steps work with it.
func (d *Decoder) ReadWeight(ctx context.Context, name string) ([]float32, Param, error) {
	return d.read(ctx, name, func(p Param) kernels.View { return p.Weight })
}

// ReadGrad is the rank's part of a gradient.
func (d *Decoder) ReadGrad(ctx context.Context, name string) ([]float32, Param, error) {
	return d.read(ctx, name, func(p Param) kernels.View { return p.Grad })
}

func (d *Decoder) read(ctx context.Context, name string, which func(Param) kernels.View) ([]float32, Param, error) {
	p, err := d.Param(name)
	if err != nil {
		return nil, p, err
	}
	if which(p).IsZero() {
		return nil, p, fmt.Errorf("model: %s has no gradient in variant %s", name, d.cfg.Variant)
	}
	out, err := d.Read(ctx, p.Name, which(p))
	return out, p, err
}

// Read is a contiguous view of numbers, of the tensor that the name says.
func (d *Decoder) Read(ctx context.Context, name string, v kernels.View) ([]float32, error) {
	out := make([]float32, v.Len())
	err := d.pieces(v, func(host *kernels.Host, from int, piece kernels.View) error {
		if err := d.dev.Do(kernels.Call{Label: dataLabel(name)}, &kernels.Download{Src: piece, Dst: host}); err != nil {
			return err
		}
		if err := d.dev.Sync(ctx, d.dev.Compute()); err != nil {
			return err
		}
		for i := range piece.Cols {
			if piece.DType == kernels.BF16 {
				out[from+i] = kernels.FromBF16(binary.NativeEndian.Uint16(host.Bytes[2*i:]))
			} else {
				out[from+i] = math.Float32frombits(binary.NativeEndian.Uint32(host.Bytes[4*i:]))
			}
		}
		return nil
	})
	return out, err
}

// pieces walks a contiguous tensor in parts that fit the staging memory.
func (d *Decoder) pieces(v kernels.View, f func(host *kernels.Host, from int, piece kernels.View) error) error {
	if d.staging == nil {
		h, err := d.dev.Host(stagingBytes)
		if err != nil {
			return fmt.Errorf("model: staging memory: %w", err)
		}
		d.staging = h
	}
	flat := v.Flat()
	for from := 0; from < flat.Cols; from += stagingBytes / 4 {
		if err := f(d.staging, from, flat.ColRange(from, min(from+stagingBytes/4, flat.Cols))); err != nil {
			return fmt.Errorf("model: %w", err)
		}
	}
	return nil
}

func dataLabel(name string) kernels.Label {
	return kernels.Label{Phase: kernels.Data, Layer: -1, Chunk: "weights", Op: name}
}

// Linear is one of a block's linears that is a pair of factors.
type Linear struct {
	Name  string // "layers.0.q"
	Layer int
	A, B  Param
}

// Linears lists the pairs of factors, in the order of the forward.
func (d *Decoder) Linears() []Linear {
	var out []Linear
	for l := range d.blocks {
		for _, g := range d.blocks[l].groups() {
			for _, name := range g.names {
				if g.rank > 0 {
					out = append(out, Linear{name, d.blocks[l].layer, d.params[d.byName[name+".A"]], d.params[d.byName[name+".B"]]})
				}
			}
		}
	}
	return out
}

// PartOf is the rectangle of a factor that tensor-parallel rank j of n holds.
func (p *Param) PartOf(j, n int) (rowLo, rowHi, colLo, colHi int) {
	rowHi, colHi = p.Rows, p.Cols
	if p.RowHi-p.RowLo < p.Rows {
		rowLo, rowHi = j*p.Rows/n, (j+1)*p.Rows/n
	}
	if p.ColHi-p.ColLo < p.Cols {
		colLo, colHi = j*p.Cols/n, (j+1)*p.Cols/n
	}
	return rowLo, rowHi, colLo, colHi
}
