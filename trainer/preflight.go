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
	return preflight.Run(ctx, preflight.Env{Spec: r.spec, Meet: r.link.client, Open: r.open, Cards: func() (sample.GPUs, error) { return cards(ctx) }, Log: r.logf,
		Identify: func(ctx context.Context, dev kernels.Device, name string, members []int) (kernels.UID, error) {
			return r.link.uid(ctx, dev, name, members, r.spec.Rank)
		}})
}

// cards opens the GPUs of this host; none where there is no driver.
func cards(ctx context.Context) (sample.GPUs, error) {
	gpus, err := nvml.Open(ctx)
	if errors.Is(err, nvml.ErrNoDriver) {
		return nil, nil
	}
	return gpus, err
}
