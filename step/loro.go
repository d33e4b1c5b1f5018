package step

import (
	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/model"
)

// The exact step of LORO needs whole factors and directions (METHOD.md §4). Linears are spread over the ranks of a stage: in
// a round every rank owns one. On the replica of its owner a linear's parts are gathered, 2·r·(in+out) elements; the
// owners step, all at once; each result is broadcast, r·(in+out) elements, and everybody takes its part; at last the parts
// go to the other replicas. One owner for each linear, not the same step on every rank: signs of singular
// vectors may differ between machines, and a mixture of bases would be garbage.

// exchange is the memory of an exact step on several ranks, enough for the largest linear.
type exchange struct {
	send  kernels.View // own parts of A, B and their directions, one after the other
	recv  kernels.View // everybody's; then a result
	whole kernels.View // of the linear that this rank owns: A, B and their directions
}

func (s *Step) allocateExchange() error {
	n := size(s.groups.TP)
	if s.cfg.Model.Variant != experiment.LORO || n == 1 || s.cfg.Cycles.Exact == 0 {
		return nil
	}
	e := &exchange{}
	most := 0
	for _, l := range s.model.Linears() {
		most = max(most, l.A.Rows*(l.A.Cols+l.B.Rows))
	}
	var shared, own kernels.Layout
	send, recv := shared.Add(1, 2*most/n, kernels.F32), shared.Add(1, 2*most, kernels.F32)
	whole := own.Add(1, 2*most, kernels.F32)
	if _, err := shared.Commit(s.dev, kernels.MemBuffers, true); err != nil {
		return err
	}
	if _, err := own.Commit(s.dev, kernels.MemBuffers, false); err != nil {
		return err
	}
	e.send, e.recv, e.whole = *send, *recv, *whole
	s.exchange = e
	return nil
}

// exact steps every linear along the directions that lie where its gradients were. After gradients that are not finite it leaves
// everything as it is: parts travel, and come back as they were.
func (s *Step) exact(rate float32) {
	linears, n, replicas := s.model.Linears(), size(s.groups.TP), size(s.groups.DP)
	for first := 0; first < len(linears); first += n * replicas {
		round := linears[first:min(first+n*replicas, len(linears))]
		lo := min(place(s.groups.DP)*n, len(round))
		s.exactOnReplica(round[lo:min(lo+n, len(round))], rate)
		if replicas == 1 {
			continue
		}
		for i, l := range round {
			s.x.At(l.Layer, "exact")
			part := kernels.Part{Kind: kernels.Broadcast, Root: i / n}
			a, b := part, part
			a.Send, b.Send = s.stepped(l.A).Flat(), s.stepped(l.B).Flat()
			s.x.Start(l.Name, s.groups.DP, a, b).Wait()
		}
	}
}

// exactOnReplica steps linears that ranks of this replica own, one each.
func (s *Step) exactOnReplica(own []model.Linear, rate float32) {
	e, rank := s.exchange, place(s.groups.TP)
	if e == nil {
		for _, l := range own {
			s.x.At(l.Layer, "exact")
			s.x.Do(l.Name, &kernels.LowRankStep{A: s.stepped(l.A), B: s.stepped(l.B), DA: l.A.Grad, DB: l.B.Grad, Scale: s.scale, Rate: rate})
		}
		return
	}
	for owner, l := range own {
		s.x.At(l.Layer, "exact")
		s.gather(l, owner == rank)
	}
	if rank < len(own) {
		l := own[rank]
		s.x.At(l.Layer, "exact")
		w := wholeOf(e.whole, l)
		s.x.Do(l.Name, &kernels.LowRankStep{A: w[0], B: w[1], DA: w[2], DB: w[3], Scale: s.scale, Rate: rate})
	}
	for owner, l := range own {
		s.x.At(l.Layer, "exact")
		s.scatter(l, owner, owner == rank)
	}
}

// parts are a linear's factors and their directions, in the order of the exchange, each with the factor that it belongs to.
func (s *Step) parts(l model.Linear) (views [4]kernels.View, of [4]*model.Param) {
	return [4]kernels.View{s.stepped(l.A), s.stepped(l.B), l.A.Grad, l.B.Grad}, factorsOf(&l)
}

func factorsOf(l *model.Linear) [4]*model.Param { return [4]*model.Param{&l.A, &l.B, &l.A, &l.B} }

// wholeOf lays a linear's whole factors and directions out in one piece of memory.
func wholeOf(v kernels.View, l model.Linear) (out [4]kernels.View) {
	at := 0
	for i, p := range factorsOf(&l) {
		out[i] = matrix(v, at, p.Rows, p.Cols)
		at += p.Rows * p.Cols
	}
	return out
}

// matrix is part of a flat view.
func matrix(v kernels.View, at, rows, cols int) kernels.View {
	return kernels.Matrix(v.Buf, v.Offset+int64(at)*v.DType.Bytes(), rows, cols, v.DType)
}

// gather brings a linear's parts together on every rank; its owner puts them in order.
func (s *Step) gather(l model.Linear, own bool) {
	e, n := s.exchange, size(s.groups.TP)
	views, of := s.parts(l)
	at := 0
	for _, v := range views {
		s.x.Do(l.Name+".part", &kernels.Copy{Src: v, Dst: matrix(e.send, at, v.Rows, v.Cols)})
		at += v.Rows * v.Cols
	}
	s.x.Start(l.Name, s.groups.TP, kernels.Part{Kind: kernels.AllGather, Send: e.send.ColRange(0, at), Recv: e.recv.ColRange(0, n*at)}).Wait()
	if !own {
		return
	}
	whole := wholeOf(e.whole, l)
	for j := range n {
		from := j * at
		for i, p := range of {
			dst := rectangle(whole[i], p, j, n)
			s.x.Do(l.Name+".whole", &kernels.Copy{Src: matrix(e.recv, from, dst.Rows, dst.Cols), Dst: dst})
			from += dst.Rows * dst.Cols
		}
	}
}

// scatter hands a result from its owner to all; each takes its part.
func (s *Step) scatter(l model.Linear, owner int, own bool) {
	e := s.exchange
	result := e.recv.ColRange(0, l.A.Rows*(l.A.Cols+l.B.Rows))
	if own {
		s.x.Do(l.Name+".result", &kernels.Copy{Src: e.whole.ColRange(0, result.Cols), Dst: result})
	}
	s.x.Start(l.Name, s.groups.TP, kernels.Part{Kind: kernels.Broadcast, Send: result, Root: owner}).Wait()
	a := matrix(e.recv, 0, l.A.Rows, l.A.Cols)
	b := matrix(e.recv, l.A.Rows*l.A.Cols, l.B.Rows, l.B.Cols)
	s.x.Do(l.Name+".A", &kernels.Copy{Src: rectangle(a, &l.A, place(s.groups.TP), size(s.groups.TP)), Dst: s.stepped(l.A)})
	s.x.Do(l.Name+".B", &kernels.Copy{Src: rectangle(b, &l.B, place(s.groups.TP), size(s.groups.TP)), Dst: s.stepped(l.B)})
}

// rectangle is the part of a whole factor that rank j of n holds.
func rectangle(whole kernels.View, p *model.Param, j, n int) kernels.View {
	rowLo, rowHi, colLo, colHi := p.PartOf(j, n)
	return whole.RowRange(rowLo, rowHi).ColRange(colLo, colHi)
}
