package main

import (
	"context"
	"errors"
	"fmt"

	"boost-tui/experiment"
	"boost-tui/planner"
	"boost-tui/sweeps/space"
)

// expand spells the space out, on the machines of its points, settles what they compute on, and opens what they read. What is
// wrong with it is the user's input.
func (a *app) expand(ctx context.Context, s *space.Spec) (*space.Expansion, error) {
	if err := a.checks().absoluteSpace(s); err != nil {
		return nil, usage(err)
	}
	var unknown error // of a machine whose description cannot be read
	auto := ""        // told where the space is one that can be
	x, err := space.ExpandHere(ctx, *s, func(e experiment.Experiment) planner.Machine {
		m, err := machineOf(e, "")
		unknown = errors.Join(unknown, err)
		return m
	}, deviceCheck(ctx, func(text string) { auto = text }))
	if unknown != nil {
		return nil, usage(unknown)
	}
	var wrong *space.SpaceError
	if errors.As(err, &wrong) {
		return nil, usage(err)
	}
	if err != nil {
		return nil, err
	}
	*s = s.Settled(x)
	if auto != "" {
		a.note("%s", auto)
	}
	return x, usage(a.checks().readings(ctx, x))
}

// absoluteSpace makes paths independent of the folder that the sweep is started in, for it may go on elsewhere, and runs whose
// checkpoints are named the checkpoints that they have now.
func (c checks) absoluteSpace(s *space.Spec) error {
	for i := range s.Set {
		if err := c.absolute(s.Set[i].Key, &s.Set[i].Value); err != nil {
			return err
		}
	}
	for _, axis := range s.Axes {
		for k, key := range axis.Keys {
			for _, entry := range axis.Values {
				if k >= len(entry) {
					continue
				}
				if err := c.absolute(key, &entry[k]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// absolute is for one value of a key; most keys name nothing.
func (c checks) absolute(key string, value *string) (err error) {
	if *value == "" || *value == "none" {
		return nil
	}
	switch key {
	case "data", "eval-data":
		return absoluteData(value)
	case "resume":
		*value, _, err = c.findCheckpoint(*value)
	case "init-from":
		*value, err = c.startOf(*value)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// readings opens what the points train on and start from, once for each way in which they do. What is wrong is said once, of
// the first point that it is wrong with.
func (c checks) readings(ctx context.Context, x *space.Expansion) error {
	type reading struct {
		train experiment.Train
		model experiment.Model
		seq   int
	}
	c.note = func(string, ...any) {} // of single points, of which there are many
	done := map[reading]bool{}
	bad := misreadings{first: map[string]string{}}
	for _, p := range x.Points {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := p.Experiment(x.Base)
		if err != nil {
			return err
		}
		t := e.Train
		if t.Data == experiment.DataEmbedded && t.EvalData == "" && t.Resume == "" && t.InitFrom == "" {
			continue
		}
		t.LR, t.WeightDecay, t.Beta1, t.Beta2, t.Eps, t.Clip = 0, 0, 0, 0, 0, 0 // nothing is read by them
		if t.Resume == "" {
			t.Seed = 0
		}
		r := reading{t, e.Model, e.Step.Seq}
		if done[r] {
			continue
		}
		done[r] = true
		bad.add(p.Label, checkData(&e))
		bad.add(p.Label, c.start(&e))
		_, err = c.resume(&e)
		bad.add(p.Label, err)
	}
	return bad.err()
}

// misreadings are what cannot be read, in the order in which it was found.
type misreadings struct {
	texts []string
	first map[string]string // label of the first point, by text
}

func (m *misreadings) add(label string, err error) {
	if err == nil {
		return
	}
	text := err.Error()
	if _, known := m.first[text]; known {
		return
	}
	m.texts, m.first[text] = append(m.texts, text), label
}

// misreadingsSaid is how many people are shown.
const misreadingsSaid = 10

func (m *misreadings) err() error {
	var errs []error
	for i, text := range m.texts {
		if i == misreadingsSaid {
			errs = append(errs, fmt.Errorf("and %d more", len(m.texts)-i))
			break
		}
		errs = append(errs, fmt.Errorf("point %s: %s", m.first[text], text))
	}
	return errors.Join(errs...)
}
