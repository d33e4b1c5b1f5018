package trainer

import (
	"strings"

	"boost-tui/kernels"
	"boost-tui/model"
	"boost-tui/step"
	"boost-tui/trainer/checkpoint"
	"boost-tui/trainer/mesh"
)

// piece is what a rank writes of one tensor: elements of the device, or numbers that the host knows.
type piece struct {
	item checkpoint.Item
	view kernels.View
	ints []int64
}

// shareOf lists what a rank writes.
func shareOf(slots []step.Slot, at mesh.Coordinate) []piece {
	var out []piece
	for _, s := range slots {
		if !s.WrittenBy(at.TP, at.DP) {
			continue
		}
		it := itemOf(s)
		out = append(out, piece{item: it, view: s.View})
		if s.Param.Places != nil && s.Kind == step.Weight {
			it.Name, it.DType = indexName(s.Param.Name), "I64"
			out = append(out, piece{item: it, ints: s.Param.Places[s.From : s.From+s.View.Len()]})
		}
	}
	return out
}

// indexName is what the places of a sparse matrix's elements are called, given the name of its values.
func indexName(values string) string {
	linear, _ := strings.CutSuffix(values, ".sparse_value")
	return linear + ".sparse_index"
}

// itemOf is a slot as checkpoints know it.
func itemOf(s step.Slot) checkpoint.Item {
	p, dtype := &s.Param, "F32"
	if s.View.DType == kernels.BF16 {
		dtype = "BF16"
	}
	return checkpoint.Item{Name: slotName(s), DType: dtype, Shape: shapeOf(p), Part: checkpoint.Part{
		RowLo: p.RowLo, RowHi: p.RowHi, ColLo: p.ColLo, ColHi: p.ColHi, From: s.From, Count: s.View.Len(), Picks: p.Picks}}
}

func slotName(s step.Slot) string {
	switch s.Kind {
	case step.FirstMoment:
		return checkpoint.FirstMoment + s.Param.Name
	case step.SecondMoment:
		return checkpoint.SecondMoment + s.Param.Name
	default:
		return s.Param.Name
	}
}

// shapeOf is the shape of a parameter: a vector has one dimension.
func shapeOf(p *model.Param) []int64 {
	if vector := p.Rows == 1 && !strings.HasSuffix(p.Name, ".A") && !strings.HasSuffix(p.Name, ".B"); vector {
		return []int64{int64(p.Cols)}
	}
	return []int64{int64(p.Rows), int64(p.Cols)}
}

// span is elements that lie one after the other on the device and in the rank's file: neighbours travel together.
type span struct {
	view kernels.View // one row
	at   int64        // bytes into the file's body
}

// spansOf joins the tensors of a share that are neighbours on both sides.
func spansOf(share []piece, at func(item int) int64) []span {
	var out []span
	for i, p := range share {
		if p.ints != nil || p.view.Len() == 0 {
			continue
		}
		if n := len(out) - 1; n >= 0 {
			last := &out[n].view
			if last.Buf == p.view.Buf && last.DType == p.view.DType && last.Offset+last.Bytes() == p.view.Offset && out[n].at+last.Bytes() == at(i) {
				*last = kernels.Matrix(last.Buf, last.Offset, 1, last.Cols+int(p.view.Len()), last.DType)
				continue
			}
		}
		out = append(out, span{p.view, at(i)})
	}
	return out
}
