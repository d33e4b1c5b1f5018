package checkpoint

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// places are the elements that a part holds, as places in the whole, found the slow way.
func places(p Part, cols int) []int64 {
	all := p.Picks
	if all == nil {
		for r := p.RowLo; r < p.RowHi; r++ {
			for c := p.ColLo; c < p.ColHi; c++ {
				all = append(all, int64(r*cols+c))
			}
		}
	}
	return all[p.From : p.From+p.Count]
}

func randomPart(g *rand.Rand, rows, cols int) Part {
	p := Part{RowLo: g.IntN(rows + 1), ColLo: g.IntN(cols + 1)}
	p.RowHi, p.ColHi = p.RowLo+g.IntN(rows-p.RowLo+1), p.ColLo+g.IntN(cols-p.ColLo+1)
	if rows == 1 && g.IntN(2) == 0 {
		p = Part{Picks: []int64{}}
		for i := range cols {
			if g.IntN(3) == 0 {
				p.Picks = append(p.Picks, int64(i))
			}
		}
	}
	if g.IntN(2) == 0 {
		p.Count = p.size()
		return p
	}
	p.From = g.Int64N(p.size() + 1)
	p.Count = g.Int64N(p.size() - p.From + 1)
	return p
}

// TestTransfer compares with a copy of element by element.
func TestTransfer(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	g := rand.New(rand.NewPCG(seed, 0))
	for range 20000 {
		rows, cols := 1+g.IntN(6), 1+g.IntN(7)
		if g.IntN(3) == 0 {
			rows = 1
		}
		from, to := randomPart(g, rows, cols), randomPart(g, rows, cols)
		if from.check(rows, cols) != nil || to.check(rows, cols) != nil {
			t.Fatalf("%+v %+v of %dx%d: refused", from, to, rows, cols)
		}
		src, dst := make([]byte, 4*from.Count), make([]byte, 4*to.Count)
		has := map[int64]bool{}
		for i, at := range places(from, cols) {
			binary.LittleEndian.PutUint32(src[4*i:], uint32(at+1))
			has[at] = true
		}
		n, want := transfer(dst, to, src, from, 4), int64(0)
		for i, at := range places(to, cols) {
			v := uint32(0)
			if has[at] {
				v = uint32(at + 1)
				want++
			}
			if got := binary.LittleEndian.Uint32(dst[4*i:]); got != v {
				t.Fatalf("%+v to %+v of %dx%d: element %d is %d, want %d", from, to, rows, cols, i, got, v)
			}
		}
		if n != want {
			t.Fatalf("%+v to %+v of %dx%d: %d elements, want %d", from, to, rows, cols, n, want)
		}
	}
}

func TestPartsRefused(t *testing.T) {
	for name, p := range map[string]Part{
		"rows":     {RowHi: 5, ColHi: 3, Count: 15},
		"columns":  {RowLo: 1, RowHi: 2, ColLo: 2, ColHi: 1},
		"count":    {RowHi: 2, ColHi: 3, From: 4, Count: 3},
		"negative": {RowHi: 2, ColHi: 3, From: -1, Count: 3},
		"huge":     {RowHi: 2, ColHi: 3, From: 1, Count: 1<<63 - 1},
		"picks":    {Picks: []int64{0, 1}, Count: 2},
	} {
		if p.check(4, 3) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for _, picks := range [][]int64{{1, 1}, {-1}, {0, 9}} {
		if (Part{Picks: slices.Clone(picks)}).check(1, 9) == nil {
			t.Errorf("picks %v: accepted", picks)
		}
	}
}
