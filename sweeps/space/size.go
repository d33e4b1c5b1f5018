package space

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"boost-tui/experiment"
)

// size is how many combinations a space has, as far as its axes alone tell.
type size struct {
	least, most float64 // where no condition holds, and where all do
	last        int     // axes up to the last with a condition
	axes        []string
}

func (s Spec) size() size {
	z := size{least: 1, most: 1}
	add := func(name string, n int, always bool) {
		z.most *= float64(n)
		if always {
			z.least *= float64(n)
		}
		z.axes = append(z.axes, name+" "+grouped(float64(n)))
	}
	for i, a := range s.Axes {
		add(strings.Join(a.Keys, ","), len(a.Values), a.always())
		if !a.always() {
			z.last = i + 1
		}
	}
	if s.Repeats > 1 {
		add("repeats", s.Repeats, true)
	}
	return z
}

// tooLarge is the problem of a space beyond MaxPoints.
func (z size) tooLarge() string {
	why := ""
	if z.last > 0 {
		why = ", and too many under its conditions as well"
	}
	return fmt.Sprintf("the space has %s combinations (%s)%s: a sweep may have %s at most, before constraints; take values away",
		grouped(z.most), strings.Join(z.axes, " x "), why, grouped(MaxPoints))
}

// bound refuses a space of too many combinations before any is made. Conditions are taken into account.
func (p *prepared) bound(ctx context.Context) error {
	z := p.spec.size()
	if z.most <= MaxPoints {
		return nil
	}
	fits, err := p.fits(ctx, z.last)
	if err != nil || fits {
		return err
	}
	return &SpaceError{[]string{z.tooLarge()}}
}

// errEnough ends a walk that counts.
var errEnough = errors.New("enough")

// fits counts the combinations under conditions, up to the bound: the values of the last axis with a condition, and of
// those behind it, only multiply.
func (p *prepared) fits(ctx context.Context, last int) (bool, error) {
	tail, total := 1.0, 0.0
	for _, a := range p.axes[last:] {
		tail *= float64(len(a.Values))
	}
	w := walker{prepared: p, ctx: ctx, depth: last - 1}
	w.leaf = func(e experiment.Experiment, _ []Assign) error {
		there, err := w.there(&p.axes[last-1], e)
		if there {
			total += tail * float64(len(p.axes[last-1].Values))
		} else {
			total += tail
		}
		if err == nil && total > MaxPoints {
			err = errEnough
		}
		return err
	}
	err := w.run()
	if errors.Is(err, errEnough) {
		return false, nil
	}
	return true, err
}
