package step

import (
	"errors"
	"fmt"

	"boost-tui/kernels"
	"boost-tui/model"
)

// Groups are a rank's communicators along each parallel dimension (METHOD.md §4): with the ranks that hold other shards of
// the same layers, with those that train the same part on other samples, and with the other stages of its pipeline in
// their order. Where the rank is alone there is none.
type Groups struct{ TP, DP, PP kernels.Comm }

// size of a group; of none 1.
func size(c kernels.Comm) int {
	if c == nil {
		return 1
	}
	return c.Size()
}

func place(c kernels.Comm) int {
	if c == nil {
		return 0
	}
	return c.Rank()
}

func (g Groups) each(f func(kernels.Comm)) {
	for _, c := range []kernels.Comm{g.TP, g.DP, g.PP} {
		if c != nil {
			f(c)
		}
	}
}

// any reports whether there are other ranks.
func (g Groups) any() bool { return size(g.TP)*size(g.DP)*size(g.PP) > 1 }

func (g Groups) stage() model.Stage { return model.Stage{Index: place(g.PP), Count: size(g.PP)} }

func (g Groups) abort() { g.each(func(c kernels.Comm) { _ = c.Abort() }) }

func (g Groups) status() error {
	var errs []error
	g.each(func(c kernels.Comm) { errs = append(errs, c.Status()) })
	return errors.Join(errs...)
}

// in is the step with what its model must know of the groups.
func (c Config) in(g Groups) (Config, error) {
	c.Model.Replicas, c.Model.Slices = size(g.DP), 1
	switch c.Zero {
	case 0:
	case 1:
		c.Model.Slices = c.Model.Replicas
	default:
		return c, fmt.Errorf("step: zero %d: slices of gradients (2) and of weights (3) are not there; the optimizer's (1) are", c.Zero)
	}
	return c, nil
}

// slices is how many data-parallel ranks share the optimizer's work on every region.
func (s *Step) slices() int { return s.cfg.Model.Slices }
