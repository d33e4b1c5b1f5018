package space

import (
	"context"
	"strings"

	"boost-tui/experiment"
)

// walker goes through the combinations of the axes' values, the last axis fastest.
type walker struct {
	*prepared
	ctx    context.Context
	leaf   func(e experiment.Experiment, set []Assign) error // not resolved; set is only lent
	depth  int                                               // axes to go through
	steps  int
	set    []Assign
	broken failures
}

// run walks everything. An expression that cannot be computed is a *SpaceError.
func (w *walker) run() error {
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
