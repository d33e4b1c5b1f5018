package preflight

import (
	"context"
	"time"

	"boost-tui/experiment"
	"boost-tui/kernels"
)

// dtype is the type of the numbers that the run multiplies.
func (p *probe) dtype() kernels.DType {
	if p.Spec.Experiment.Step.DType == experiment.BF16 {
		return kernels.BF16
	}
	return kernels.F32
}

// products times matrix products on all ranks at once, as in a run and of its numbers. The best of some windows counts: others may use
// the machine for a moment.
func (p *probe) products(ctx context.Context) error {
	if p.dev == nil {
		return errNoDevice
	}
	side := sideOf(p.Spec.Experiment.Step.Device)
	dtype := p.dtype()
	bytes := int64(side) * int64(side) * dtype.Bytes()
	buf, err := p.dev.Alloc("preflight.products", 3*bytes, false)
	if err != nil {
		return err
	}
	at := func(i int64) kernels.View { return kernels.Matrix(buf, i*bytes, side, side, dtype) }
	op := &kernels.Gemm{Alpha: 1, A: at(0), B: at(1), D: at(2)}
	for i := range int64(3) {
		if err := p.do("fill", &kernels.Fill{X: at(i), Value: 0.5}); err != nil {
			return err
		}
	}
	for range windows {
		began, count := time.Now(), 0
		for time.Since(began) < windowNanos {
			if err := p.do("gemm", op); err != nil {
				return err
			}
			if err := p.dev.Sync(ctx, p.dev.Compute()); err != nil {
				return err
			}
			count++
		}
		p.found.GEMM = max(p.found.GEMM, float64(op.FLOPs())*float64(count)/time.Since(began).Seconds())
	}
	return p.dev.Free(buf)
}
