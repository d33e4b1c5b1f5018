package check

import (
	"fmt"

	"boost-tui/kernels"
)

// pair is an output and an input that may be the very same view.
type pair struct{ out, in string }

// mayBe lists what the operations allow, as their doc comments say; everything else must not share memory with an
// output, and two outputs never share memory.
func mayBe(op kernels.Op) []pair {
	switch op.(type) {
	case *kernels.Gemm:
		return []pair{{"D", "C"}}
	case *kernels.Axpby:
		return []pair{{"Out", "X"}, {"Out", "Y"}}
	case *kernels.NormRStd:
		return []pair{{"RStd", "Stat"}}
	case *kernels.NormBwdApply:
		return []pair{{"DX", "Base"}}
	case *kernels.Latent:
		return []pair{{"U", "P"}}
	case *kernels.LatentBwd:
		return []pair{{"DU", "DH"}}
	case *kernels.SwiGLUBwd:
		return []pair{{"DG", "G"}, {"DG", "DY"}, {"DU", "U"}, {"DU", "DY"}}
	case *kernels.Adam:
		return []pair{{"Out", "Grad"}}
	case *kernels.XentLoss:
		return []pair{{"DLogits", "Logits"}}
	}
	return nil
}

// aliasing compares every output with every other operand.
func aliasing(op kernels.Op, list []kernels.Operand) error {
	if c, ok := op.(*kernels.Collective); ok {
		list = apart(c)
	}
	allowed := mayBe(op)
	for i, out := range list {
		if out.Access&kernels.Write == 0 {
			continue
		}
		for j, other := range list {
			if i == j || other.Access&kernels.Write != 0 && j < i || !out.View.Overlaps(other.View) {
				continue
			}
			if other.Access&kernels.Write == 0 && out.View.Same(other.View) && contains(allowed, pair{out.Name, other.Name}) {
				continue
			}
			return fmt.Errorf("output %s (%s) shares memory with %s (%s), which %s does not allow", out.Name, out.View, other.Name, other.View, op.Name())
		}
	}
	return nil
}

// apart are the operands of a collective, of a part in place the longer view alone.
func apart(c *kernels.Collective) (list []kernels.Operand) {
	for _, p := range c.Parts {
		one := kernels.Collective{Comm: c.Comm, Parts: []kernels.Part{p}}
		one.Operands(func(o kernels.Operand) {
			short := o.Name == "Send" == (p.Kind == kernels.AllGather)
			if p.Recv.IsZero() || !short || !p.InPlace(c.Comm.Rank()) {
				list = append(list, o)
			}
		})
	}
	return list
}

func contains(list []pair, p pair) bool {
	for _, q := range list {
		if p == q {
			return true
		}
	}
	return false
}
