package trainer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"boost-tui/model"
	"boost-tui/trainer/weights"
)

// initialize gives the weights their first values: drawn, or from what the experiment starts from.
func (r *rank) initialize(ctx context.Context, d *model.Decoder) (err error) {
	if err := d.Initialize(ctx); err != nil {
		return fmt.Errorf("initialise the weights: %w", err)
	}
	e := r.spec.Experiment
	if e.Train.InitFrom == "" {
		return nil
	}
	src, err := weights.Open(e.Train.InitFrom)
	if err != nil {
		return fmt.Errorf("init-from: %w", err)
	}
	defer func() {
		if c, ok := src.(*weights.Checkpoint); ok {
			err = hintBefore(err, "init-from", c.Checkpoint)
		}
		err = errors.Join(err, src.Close())
	}()
	if err := weights.Check(src, e); err != nil {
		return fmt.Errorf("init-from %s: %w", e.Train.InitFrom, err)
	}
	for _, p := range d.Params() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := startFrom(ctx, d, src, p, r); err != nil {
			return fmt.Errorf("init-from %s: %s: %w", e.Train.InitFrom, p.Name, err)
		}
	}
	r.logf("weights start from %s: %s", e.Train.InitFrom, weights.Taken(src, e))
	return nil
}

// startFrom sets one parameter.
func startFrom(ctx context.Context, d *model.Decoder, src weights.Source, p model.Param, r *rank) error {
	way, err := weights.Start(src, r.spec.Experiment.Model.Variant, p.Name, shapeOf(&p))
	if err != nil {
		return err
	}
	linear := p.Name[:max(0, strings.LastIndexByte(p.Name, '.'))]
	var values []float32
	switch {
	case way == weights.Drawn, way == weights.Truncated && strings.HasSuffix(p.Name, ".B"): // set along with A
		return nil
	case way == weights.Copied:
		if p.Places != nil {
			places, err := src.Places(linear)
			if err != nil {
				return err
			}
			if err := d.LoadSupport(ctx, linear, places); err != nil {
				return err
			}
		}
		values, err = src.Read(p.Name)
	default:
		values, err = src.Dense(linear)
	}
	if err != nil {
		return err
	}
	if way == weights.Truncated {
		return d.LoadTruncated(ctx, linear, values)
	}
	return d.Load(ctx, p.Name, values)
}
