package space

import (
	"context"
	"slices"

	"boost-tui/experiment"
)

// fullTwin is what makes the full-rank twin of a point with factors. What else belongs to its variant goes back to what
// follows from the rest (fullOpens).
func fullTwin() []Assign {
	return []Assign{{"variant", string(experiment.Full)}, {"scheme", string(experiment.FullRank)}}
}

func fullOpens() []string {
	opens := []string{"keep-silu"}
	for _, k := range experiment.Keys() {
		if !k.Means(experiment.Full) {
			opens = append(opens, k.Name)
		}
	}
	return opens
}

func vanillaTwin() []Assign { return []Assign{{"scheme", string(experiment.Vanilla)}} }

// twins links points to their twins and, where the space asks for them, adds those that are not there.
func (b *builder) twins(ctx context.Context) error {
	own := len(b.x.Points)
	for i := 0; i < len(b.x.Points); i++ { // added twins as well: a vanilla one has a full-rank one
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		e, err := b.x.Points[i].Experiment(b.p.base)
		if err != nil {
			return err
		}
		if e.Model.Variant == experiment.Full {
			b.x.Points[i].Full = b.x.Points[i].ID
		} else if err := b.twinsOf(i, e); err != nil {
			return err
		}
	}
	b.x.Twins = len(b.x.Points) - own
	b.x.Points = append(slices.Clone(b.x.Points[own:]), b.x.Points[:own]...)
	b.mine = append(slices.Clone(b.mine[own:]), b.mine[:own]...)
	return nil
}

// twinsOf finds the twins of a point with factors. A variant that runs under the full-rank scheme alone has no vanilla one.
func (b *builder) twinsOf(i int, e experiment.Experiment) error {
	full, err := b.twin(i, fullTwin(), b.opens)
	if err != nil {
		return err
	}
	vanilla := ""
	switch e.Parallel.Scheme {
	case experiment.Vanilla:
		vanilla = b.x.Points[i].ID
	case experiment.BTP:
		if vanilla, err = b.twin(i, vanillaTwin(), nil); err != nil {
			return err
		}
	}
	b.x.Points[i].Full, b.x.Points[i].Vanilla = full, vanilla
	return nil
}

// twin is the ID of a point's twin, empty where it is not part of the sweep.
func (b *builder) twin(of int, set []Assign, opens []string) (string, error) {
	drop := slices.Clone(opens)
	for _, a := range set {
		drop = append(drop, a.Key)
	}
	p := Point{Twin: true}
	for _, a := range b.x.Points[of].Set[:b.mine[of]] {
		if !slices.Contains(drop, a.Key) {
			p.Set = append(p.Set, a)
		}
	}
	mine := len(p.Set)
	p.Set = append(p.Set, set...)
	for _, key := range opens {
		if b.saidInBase(key) {
			p.Set = append(p.Set, Assign{key, "auto"})
		}
	}
	e, err := p.Experiment(b.p.base)
	if err != nil {
		return "", err
	}
	p.ID = b.ids.id(e)
	if b.p.spec.Twins && !b.seen[p.ID] {
		b.judge(e, p, mine)
	}
	if !b.points[p.ID] {
		return "", nil
	}
	return p.ID, nil
}

// saidInBase reports whether the whole space sets a key that is open otherwise.
func (b *builder) saidInBase(key string) bool {
	return slices.ContainsFunc(b.p.spec.Set, func(a Assign) bool { return a.Key == key && a.Value != "" && a.Value != "auto" })
}
