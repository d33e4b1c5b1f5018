package checkpoint

import (
	"fmt"
	"slices"
)

// Part is which elements of a tensor somebody holds: of the rectangle [RowLo, RowHi) x [ColLo, ColHi) the Count elements
// from number From on, counted row by row. A vector is one row.
//
// Where Picks is there, the rectangle counts for nothing: the part holds the elements Picks[From:From+Count] of a vector, which are in
// rising order.
type Part struct {
	RowLo, RowHi, ColLo, ColHi int
	From, Count                int64
	Picks                      []int64
}

// Whole is the part that is all of a matrix.
func Whole(rows, cols int) Part {
	return Part{RowHi: rows, ColHi: cols, Count: int64(rows) * int64(cols)}
}

// size is the number of elements that From and Count choose from.
func (p Part) size() int64 {
	if p.Picks != nil {
		return int64(len(p.Picks))
	}
	return int64(p.RowHi-p.RowLo) * int64(p.ColHi-p.ColLo)
}

// rectangular reports whether the part is a rectangle and all of it.
func (p Part) rectangular() bool { return p.Picks == nil && p.From == 0 && p.Count == p.size() }

// check says whether the part lies in a tensor of rows x cols.
func (p Part) check(rows, cols int) error {
	switch {
	case p.Picks == nil && (p.RowLo < 0 || p.RowHi < p.RowLo || p.RowHi > rows || p.ColLo < 0 || p.ColHi < p.ColLo || p.ColHi > cols):
		return fmt.Errorf("rows %d to %d, columns %d to %d of %dx%d", p.RowLo, p.RowHi, p.ColLo, p.ColHi, rows, cols)
	case p.From < 0 || p.Count < 0 || p.From > p.size()-p.Count:
		return fmt.Errorf("elements %d to %d of %d", p.From, p.From+p.Count, p.size())
	case p.Picks != nil && rows != 1:
		return fmt.Errorf("picked elements of a matrix of %d rows", rows)
	}
	for i, at := range p.Picks {
		if at < 0 || at >= int64(cols) || i > 0 && at <= p.Picks[i-1] {
			return fmt.Errorf("picked element %d is %d: outside of %d, or not in rising order", i, at, cols)
		}
	}
	return nil
}

// row gives the columns [lo, hi) of a row that the part holds, and which of its held elements the first of them is.
func (p Part) row(row int) (lo, hi int, at int64) {
	if row < p.RowLo || row >= p.RowHi {
		return 0, 0, 0
	}
	width := int64(p.ColHi - p.ColLo)
	first := int64(row-p.RowLo) * width // of the rectangle's elements
	from, to := max(first, p.From), min(first+width, p.From+p.Count)
	if from >= to {
		return 0, 0, 0
	}
	return p.ColLo + int(from-first), p.ColLo + int(to-first), from - p.From
}

// transfer copies what two parts have in common, elements of width bytes each, and gives how many those are.
func transfer(dst []byte, to Part, src []byte, from Part, width int) int64 {
	if to.Picks != nil || from.Picks != nil {
		return transferPicks(dst, to, src, from, width)
	}
	w := int64(width)
	if to.rectangular() && from.rectangular() && to.ColLo == from.ColLo && to.ColHi == from.ColHi {
		lo, hi := max(to.RowLo, from.RowLo), min(to.RowHi, from.RowHi) // rows follow each other in both
		if lo >= hi {
			return 0
		}
		line := int64(to.ColHi - to.ColLo)
		n := int64(hi-lo) * line
		copy(dst[int64(lo-to.RowLo)*line*w:][:n*w], src[int64(lo-from.RowLo)*line*w:])
		return n
	}
	total := int64(0)
	for row := max(to.RowLo, from.RowLo); row < min(to.RowHi, from.RowHi); row++ {
		tLo, tHi, tAt := to.row(row)
		fLo, fHi, fAt := from.row(row)
		lo, hi := max(tLo, fLo), min(tHi, fHi)
		if lo >= hi {
			continue
		}
		n := int64(hi - lo)
		copy(dst[(tAt+int64(lo-tLo))*w:][:n*w], src[(fAt+int64(lo-fLo))*w:])
		total += n
	}
	return total
}

// transferPicks is transfer of vectors, where at least one side is picked elements.
func transferPicks(dst []byte, to Part, src []byte, from Part, width int) int64 {
	total := int64(0)
	for i := range from.Count {
		j, ok := to.find(from.element(i))
		if ok {
			copy(dst[j*int64(width):][:width], src[i*int64(width):])
			total++
		}
	}
	return total
}

// element is the place in a vector of element i of the part.
func (p Part) element(i int64) int64 {
	if p.Picks != nil {
		return p.Picks[p.From+i]
	}
	return int64(p.ColLo) + p.From + i
}

// find is which element of the part lies at a place of a vector.
func (p Part) find(place int64) (int64, bool) {
	if p.Picks != nil {
		i, ok := slices.BinarySearch(p.Picks[p.From:p.From+p.Count], place)
		return int64(i), ok
	}
	i := place - int64(p.ColLo) - p.From
	return i, i >= 0 && i < p.Count && p.RowHi > p.RowLo
}
