package data

import "fmt"

// Batches draws the samples of each step: sample i of step k starts at a position that is a function
// of (seed, k, i) and of nothing else. No state means that every rank can compute any sample, that the
// layout of ranks does not matter, and that a resumed run goes on where it was.
type Batches struct {
	Source  *Stream
	Seed    uint64
	Seq     int // tokens per sample that are predicted, as the stream's; a sample has one more
	First   int // the first sample of a step that Fill takes: those before it are of other data-parallel ranks
	Samples int // samples that Fill takes of a step, over all its micro-batches
}

// Evaluation is the step whose samples are those of every evaluation.
const Evaluation = 0

// Start is where a sample lies: the position of its first token in one of the stream's parts. step counts from 1, index from 0.
func (b *Batches) Start(step, index int) (part int, at int64) {
	k, i := uint64(step), uint64(index)
	if len(b.Source.parts) > 1 {
		part = b.Source.choose(random(b.Seed, k, i, drawPart))
	}
	return part, b.Source.parts[part].start(random(b.Seed, k, i))
}

// drawPart keeps the choice of a part apart from that of a position in it.
const drawPart = 1

// Fill writes the step's samples one after the other, Seq+1 tokens each, into dst.
func (b *Batches) Fill(dst []int32, step int) error {
	n := b.Seq + 1
	if len(dst) != b.Samples*n {
		return fmt.Errorf("data: room for %d tokens, %d samples of %d need %d", len(dst), b.Samples, n, b.Samples*n)
	}
	for i := range b.Samples {
		part, at := b.Start(step, b.First+i)
		if err := b.Source.parts[part].source.Read(dst[i*n:(i+1)*n], at); err != nil {
			return fmt.Errorf("step %d, sample %d: %w", step, b.First+i, err)
		}
	}
	return nil
}

// random is a counter-based generator: 64 bits that are a pure function of the key. Each word is mixed
// in by the finalizer of SplitMix64, whose avalanche makes neighbouring counters unrelated.
func random(key ...uint64) uint64 {
	const golden = 0x9e3779b97f4a7c15
	h := uint64(0x626f6f7374646174) // keeps these draws apart from other uses of a seed
	for _, k := range key {
		h = mix(h + golden + mix(k+golden))
	}
	return h
}

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
