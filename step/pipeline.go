package step

import "boost-tui/kernels"

// The pipeline (METHOD.md §4, 1F1B). Transfers run on streams of their own, one for each direction to each neighbour: what
// a stage needs next is asked for before it does what comes first.

// turn is a forward or a backward of a micro-batch.
type turn struct {
	micro int
	back  bool
}

// oneForwardOneBackward is the order of a stage's work: forwards until the first gradient can be back, then a forward and a
// backward in turn, then the backwards that are left.
func oneForwardOneBackward(stage, stages, micros int) []turn {
	ahead := min(stages-stage-1, micros)
	var out []turn
	for i := range ahead {
		out = append(out, turn{i, false})
	}
	for i := range micros {
		if ahead+i < micros {
			out = append(out, turn{ahead + i, false})
		}
		out = append(out, turn{i, true})
	}
	return out
}

// pipe is a rank's place among the stages, and its transfers under way.
type pipe struct {
	comm        kernels.Comm
	prev, next  int // neighbours; -1: none
	micros      int
	order       []turn
	input, grad kernels.Pending // of the micro-batch that comes next
	results     [2]leaving      // the last two, the older first
	gradients   [2]leaving
}

// leaving is a transfer to another stage.
type leaving struct {
	micro int
	kernels.Pending
}

// push puts a transfer in the place of the older of two.
func push(l *[2]leaving, micro int, p kernels.Pending) { l[0], l[1] = l[1], leaving{micro, p} }

func newPipe(c kernels.Comm, micros int) pipe {
	p := pipe{comm: c, prev: -1, next: -1, micros: micros, order: oneForwardOneBackward(place(c), size(c), micros)}
	if c != nil && c.Rank() > 0 {
		p.prev = c.Rank() - 1
	}
	if c != nil && c.Rank()+1 < c.Size() {
		p.next = c.Rank() + 1
	}
	p.reset()
	return p
}

// reset forgets transfers of a step that failed.
func (p *pipe) reset() {
	p.input, p.grad = kernels.Pending{}, kernels.Pending{}
	p.results, p.gradients = [2]leaving{}, [2]leaving{}
}

// settle waits for what is still leaving.
func (p *pipe) settle() {
	for i := range p.results {
		p.results[i].Wait()
		p.gradients[i].Wait()
	}
}

// ChunkStages is the chunk of transfers between stages.
const ChunkStages = "stages"

func (s *Step) atStages(phase kernels.Phase, micro int) {
	s.x.Phase(phase, micro)
	s.x.At(-1, ChunkStages)
}

// forward runs a micro-batch forward, from the stage before to the next.
func (s *Step) forward(micro int) {
	p, m := &s.pipe, s.model
	s.atStages(kernels.Forward, micro)
	if p.prev >= 0 {
		if micro == 0 {
			p.input = s.x.StartRecv("input", p.comm, p.prev, m.Arriving(0)...)
		}
		now := p.input
		if micro+1 < p.micros {
			p.input = s.x.StartRecv("input", p.comm, p.prev, m.Arriving(micro+1)...)
		}
		now.Wait()
	}
	p.results[0].Wait() // whose memory the output takes
	s.upload(micro)
	m.Forward(s.x, micro)
	if p.next >= 0 {
		s.atStages(kernels.Forward, micro)
		push(&p.results, micro, s.x.StartSend("output", p.comm, p.next, m.Leaving(micro)...))
	}
}

// backward runs a micro-batch backward, from the next stage to the one before. After the last one the gradients are complete.
func (s *Step) backward(micro int) {
	p, m := &s.pipe, s.model
	s.atStages(kernels.Backward, micro)
	if p.next >= 0 {
		if micro == 0 {
			p.grad = s.x.StartRecv("gradient", p.comm, p.next, m.GradientsArriving(0)...)
		}
		now := p.grad
		if micro+1 < p.micros {
			p.grad = s.x.StartRecvAfter(p.gradients[1].Pending, "gradient", p.comm, p.next, m.GradientsArriving(micro+1)...)
		}
		now.Wait()
	}
	p.gradients[0].Wait() // whose memory the gradient takes
	for _, r := range p.results {
		if r.micro <= micro { // it has arrived, since its gradient has: the block's latents may be made again
			r.Wait()
		}
	}
	m.Backward(s.x, micro, s.reduceUpTo)
	if p.prev >= 0 {
		s.atStages(kernels.Backward, micro)
		push(&p.gradients, micro, s.x.StartSend("gradient", p.comm, p.prev, m.GradientsLeaving(micro)...))
	}
}
