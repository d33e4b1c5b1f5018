package trainer

import (
	"context"
	"errors"

	"boost-tui/kernels"
	"boost-tui/profiler/sample"
	"boost-tui/profiler/sample/nvml"
	"boost-tui/trainer/preflight"
)

// preflight looks at the machines instead of training.
func (r *rank) preflight(ctx context.Context) error {
	if r.link.client == nil {
		return errors.New("a preflight needs a rendezvous")
	}
	return preflight.Run(ctx, preflight.Env{Spec: r.spec, Meet: r.link.client, Open: r.open, Cards: func() (sample.GPUs, error) { return nvml.OpenAny(ctx) }, Log: r.logf,
		Identify: func(ctx context.Context, dev kernels.Device, name string, members []int) (kernels.UID, error) {
			return r.link.uid(ctx, dev, name, members, r.spec.Rank)
		}})
}
