package space

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"boost-tui/experiment"
	"boost-tui/planner"
)

// Expand spells a space out: every combination of its axes' values under their conditions, without what the constraints
// leave out; what runs the same once; twins; and what cannot run on the machine set aside with its reason.
//
// Everything that a user got wrong is one *SpaceError. A space of which nothing is left is such an error too, and then
// the expansion comes with it, to show why. A machine whose memory is unknown prunes nothing by memory.
func Expand(ctx context.Context, s Spec, m planner.Machine) (*Expansion, error) {
	return ExpandOn(ctx, s, func(experiment.Experiment) planner.Machine { return m })
}

// ExpandOn is Expand for points that may run on machines of their own: it asks for the machine of every place and device that there is
// among the resolved experiments, once for each.
func ExpandOn(ctx context.Context, s Spec, machine func(experiment.Experiment) planner.Machine) (*Expansion, error) {
	p, err := s.prepare()
	if err != nil {
		return nil, err
	}
	if err := p.bound(ctx); err != nil {
		return nil, err
	}
	b := newBuilder(p, machine)
	w := walker{prepared: p, ctx: ctx, leaf: b.combination, depth: len(p.axes)}
	if err := w.run(); err != nil {
		return nil, err
	}
	if err := b.failures.err(); err != nil {
		return nil, err
	}
	if err := b.finish(ctx); err != nil {
		return nil, err
	}
	if len(b.x.Points) == 0 {
		return b.x, b.x.empty()
	}
	return b.x, nil
}

// Experiment is the point on its base, resolved.
func (p Point) Experiment(base experiment.Experiment) (experiment.Experiment, error) {
	e := base
	for _, a := range p.Set {
		if err := e.Set(a.Key, a.Value); err != nil {
			return e, fmt.Errorf("point %s: %w", p.ID, err)
		}
	}
	e, err := e.Resolve()
	if err != nil {
		return e, fmt.Errorf("point %s: %w", p.ID, err)
	}
	return e, nil
}

// builder collects the points.
type builder struct {
	x          *Expansion
	ask        func(experiment.Experiment) planner.Machine
	machines   map[place]planner.Machine // that were asked for
	sizer      planner.Sizer
	ids        idWriter
	p          *prepared
	failures   failures
	seen       map[string]bool // IDs of points and of what was pruned
	points     map[string]bool // IDs of points
	mine       []int           // for each point, how many of its Set tell it from others; the rest make a twin of it
	prunedMine []int           // the same for what was pruned
	opens      []string        // keys that a full-rank twin does not take from its point
}

func newBuilder(p *prepared, machine func(experiment.Experiment) planner.Machine) *builder {
	b := &builder{p: p, ask: machine, machines: map[place]planner.Machine{}, opens: fullOpens(), seen: map[string]bool{}, points: map[string]bool{}, x: &Expansion{Base: p.base, Notes: p.notes}}
	for _, a := range p.axes {
		for _, k := range a.Keys {
			if !slices.Contains(b.x.Keys, k) {
				b.x.Keys = append(b.x.Keys, k)
			}
		}
	}
	for _, c := range p.constraints {
		b.x.Removed = append(b.x.Removed, Removed{Constraint: c.source})
	}
	return b
}

// combination takes one combination of values.
func (b *builder) combination(e experiment.Experiment, set []Assign) error {
	e, err := e.Resolve()
	if err != nil {
		return fmt.Errorf("%s: %w", said(set), err)
	}
	b.x.Raw++
	met := true
	for i, c := range b.p.constraints {
		ok, err := c.holds(&e)
		if err != nil {
			b.failures.add(fmt.Sprintf("constraint %d", i+1), err, set)
			continue
		}
		if !ok {
			b.x.Removed[i].Points++
			met = false
		}
	}
	if !met {
		b.x.Excluded++
		return nil
	}
	id := b.ids.id(e)
	if b.seen[id] {
		b.x.Merged++
		return nil
	}
	b.judge(e, Point{ID: id, Set: slices.Clone(set)}, len(set))
	return nil
}

// judge adds a point, or what keeps it from running to the pruned. mine is how many of its Set are its own.
func (b *builder) judge(e experiment.Experiment, p Point, mine int) {
	b.seen[p.ID] = true
	if v, ok := b.broken(e); ok {
		b.x.Pruned = append(b.x.Pruned, Pruned{ID: p.ID, Set: p.Set, Key: v.Key, Rule: v.Rule, Reason: v.Reason})
		b.prunedMine = append(b.prunedMine, mine)
		return
	}
	p.FLOPs, p.Ranks, p.Steps = planner.RunFLOPs(e), e.World(), e.StepsToRun()
	b.points[p.ID] = true
	b.x.Points = append(b.x.Points, p)
	b.mine = append(b.mine, mine)
}

// place is what a machine depends on.
type place struct {
	where  experiment.Where
	device string
}

// machine is the machine that an experiment would run on.
func (b *builder) machine(e experiment.Experiment) planner.Machine {
	at := place{e.Where, e.Step.Device}
	m, asked := b.machines[at]
	if !asked {
		m = b.ask(e)
		b.machines[at] = m
	}
	return m
}

// broken is the first rule that an experiment breaks on the machine, all reasons in it.
func (b *builder) broken(e experiment.Experiment) (experiment.Violation, bool) {
	const most = 3
	var first experiment.Violation
	var reasons []string
	for _, v := range b.sizer.Check(e, b.machine(e)) {
		if v.Warning {
			continue
		}
		if len(reasons) == 0 {
			first = v
		}
		reasons = append(reasons, v.String())
	}
	if len(reasons) > most {
		reasons = append(reasons[:most], fmt.Sprintf("and %d more", len(reasons)-most))
	}
	first.Reason = strings.Join(reasons, "; ")
	return first, len(reasons) > 0
}

// finish adds twins, links points to theirs, puts added twins first and names everything.
func (b *builder) finish(ctx context.Context) error {
	if err := b.twins(ctx); err != nil {
		return err
	}
	b.x.Shapes = b.sizer.Shapes()
	for _, a := range b.p.axes {
		if a.when != nil && !a.used && b.x.Raw > 0 {
			b.x.Notes = append(b.x.Notes, fmt.Sprintf("axis %s is never there: its condition %s never holds", strings.Join(a.Keys, ","), quoted(a.when.source)))
		}
	}
	return b.label(ctx)
}

// failures are expressions that could not be computed: the first time of each, and how often.
type failures struct {
	list []failure
}

type failure struct {
	what  string
	err   error
	at    string
	count int
}

func (f *failures) add(what string, err error, set []Assign) {
	for i := range f.list {
		if f.list[i].what == what {
			f.list[i].count++
			return
		}
	}
	f.list = append(f.list, failure{what, err, said(set), 1})
}

func (f *failures) err() error {
	var bad problems
	for _, one := range f.list {
		bad.add("%s: %v, for %s: guard it, as in rank == 0 || heads %% rank == 0", one.what, one.err, many(one.count, "combination")+", first "+one.at)
	}
	return bad.err()
}

// said is a combination as its values stand in Set.
func said(set []Assign) string {
	words := make([]string, len(set))
	for i, a := range set {
		words[i] = a.Key + "=" + a.Value
	}
	if len(words) == 0 {
		return "the one without axes"
	}
	return strings.Join(words, " ")
}

// empty says where all the points went.
func (x *Expansion) empty() error {
	var bad problems
	bad.add("no point is left of %s", many(x.Raw, "combination"))
	for _, r := range x.Removed {
		if r.Points > 0 {
			bad.add("constraint %s is not met by %s", quoted(r.Constraint), many(r.Points, "combination"))
		}
	}
	rules, first := map[string]int{}, map[string]string{}
	var order []string
	for _, p := range x.Pruned {
		if rules[p.Rule] == 0 {
			order, first[p.Rule] = append(order, p.Rule), p.Reason
		}
		rules[p.Rule]++
	}
	for _, r := range order {
		bad.add("rule %q is broken by %s, as in: %s", r, many(rules[r], "combination"), first[r])
	}
	return bad.err()
}
