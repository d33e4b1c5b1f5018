package space

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"boost-tui/experiment"
)

// walker goes through the combinations of the axes' values, the last axis fastest.
type walker struct {
	*prepared
	ctx    context.Context
	leaf   func(e experiment.Experiment, set []Assign) error // not resolved; set is only lent
	depth  int                                               // axes to go through; 0: all
	steps  int
	set    []Assign
	broken failures
}

// errEnough ends a walk that counts.
var errEnough = errors.New("enough")

// run walks everything. An expression that cannot be computed is a *SpaceError.
func (w *walker) run() error {
	if w.depth == 0 {
		w.depth = len(w.axes)
	}
	if err := w.walk(0, w.base); err != nil {
		return err
	}
	return w.broken.err()
}

func (w *walker) walk(level int, e experiment.Experiment) error {
	if w.steps++; w.steps%1024 == 0 {
		if err := w.ctx.Err(); err != nil {
			return err
		}
	}
	if level == w.depth {
		return w.leaf(e, w.set)
	}
	a := &w.axes[level]
	there, err := w.there(a, e)
	if err != nil {
		return err
	}
	if !there {
		return w.walk(level+1, e)
	}
	a.used = true
	before := len(w.set)
	for _, entry := range a.Values {
		next := e
		w.set = w.set[:before]
		for i, k := range a.keys {
			if err := k.Set(&next, entry[i]); err != nil {
				return err
			}
			w.set = append(w.set, Assign{k.Name, entry[i]})
		}
		if err := w.walk(level+1, next); err != nil {
			return err
		}
	}
	w.set = w.set[:before]
	return nil
}

// there reports whether an axis is there for what stands before it.
func (w *walker) there(a *preparedAxis, e experiment.Experiment) (bool, error) {
	if a.when == nil {
		return true, nil
	}
	r, err := e.Resolve()
	if err != nil {
		return false, err
	}
	yes, err := a.when.holds(&r)
	if err != nil {
		w.broken.add("condition of axis "+strings.Join(a.Keys, ","), err, w.set)
	}
	return yes, nil
}

// bound refuses a space of too many combinations before any is made. Conditions are taken into account, as far as it takes
// to know.
func (p *prepared) bound(ctx context.Context) error {
	least, most, last := 1.0, 1.0, 0
	var sizes []string
	for i, a := range p.axes {
		n := float64(len(a.Values))
		most *= n
		if a.when == nil {
			least *= n
		} else {
			last = i + 1
		}
		sizes = append(sizes, strings.Join(a.Keys, ",")+" "+grouped(n))
	}
	if most <= MaxPoints {
		return nil
	}
	if least <= MaxPoints {
		ok, err := p.fits(ctx, last)
		if ok || err != nil {
			return err
		}
	}
	why := ""
	if last > 0 {
		why = ", and too many under its conditions as well"
	}
	return &SpaceError{[]string{fmt.Sprintf("the space has %s combinations (%s)%s: a sweep may have %s at most, before constraints; take values away",
		grouped(most), strings.Join(sizes, " x "), why, grouped(MaxPoints))}}
}

// fits counts the combinations under conditions, up to the bound. Behind the last condition they only multiply.
func (p *prepared) fits(ctx context.Context, last int) (bool, error) {
	tail, total := 1.0, 0.0
	for _, a := range p.axes[last:] {
		tail *= float64(len(a.Values))
	}
	w := walker{prepared: p, ctx: ctx, depth: last}
	w.leaf = func(experiment.Experiment, []Assign) error {
		if total += tail; total > MaxPoints {
			return errEnough
		}
		return nil
	}
	err := w.run()
	if errors.Is(err, errEnough) {
		return false, nil
	}
	return true, err
}
