package step

import (
	"context"
	"fmt"
	"math"
	"strings"

	"boost-tui/kernels"
)

// DrawOnDevice sets the weights to numbers of the size that they have in training, without the host: for measurements of steps whose
// weights nobody will keep. Matrices are uniform with variance 1/columns, norms are 1. Decoders that have sparse weights have no such way.
func (s *Step) DrawOnDevice(ctx context.Context) error {
	s.x.Reset()
	s.x.Phase(kernels.PhaseNone, 0)
	s.x.At(-1, "draw")
	for i, p := range s.model.Params() {
		if p.Sparse() {
			return fmt.Errorf("step: %s is sparse: it cannot be drawn on the device", p.Name)
		}
		if p.Rows == 1 || p.Cols == 1 || strings.HasSuffix(p.Name, "norm.weight") {
			s.x.Do(p.Name, &kernels.Fill{X: p.Weight, Value: 1})
			continue
		}
		s.x.Do(p.Name, &kernels.Draw{X: p.Weight, Key: uint64(i) + 1, Row: p.RowLo, Col: p.ColLo, Width: p.Cols, Bound: float32(math.Sqrt(3 / float64(p.Cols)))})
	}
	for _, u := range s.updates {
		for _, r := range u.stretches {
			s.widen(r)
		}
	}
	if err := s.x.Err(); err != nil {
		return fmt.Errorf("step: draw weights: %w", err)
	}
	return s.dev.Sync(ctx, kernels.ComputeStream)
}
