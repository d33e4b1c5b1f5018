package space

import (
	"cmp"
	"context"
	"slices"

	"boost-tui/experiment"
	"boost-tui/planner"
)

// DeviceCheck says what keeps so many ranks of this machine from a device, and what "auto" is for them.
type DeviceCheck func(device string, ranks int) (string, error)

// ExpandHere is ExpandOn for a sweep that is to start on this machine. A device that the space leaves open is settled first, one
// for all points (see Spec.Settled): cuda where all of them can have it. A device that points on this machine cannot have
// is a *SpaceError, said once however many points ask for it; that this machine has no GPU prunes nothing, for the check says more.
func ExpandHere(ctx context.Context, s Spec, machine func(experiment.Experiment) planner.Machine, check DeviceCheck) (*Expansion, error) {
	if check == nil {
		return ExpandOn(ctx, s, machine)
	}
	ask := func(e experiment.Experiment) planner.Machine {
		m := machine(e)
		m.NoGPUs = m.NoGPUs && !isLocal(e.Where.Where)
		return m
	}
	x, err := ExpandOn(ctx, s, ask)
	if x == nil {
		return nil, err
	}
	ranks := x.open()
	if ranks > 0 {
		device, wrong := check(experiment.DeviceAuto, ranks)
		switch {
		case wrong != nil:
			return x, &SpaceError{[]string{wrong.Error()}}
		case device == experiment.DeviceCUDA:
			if x, err = ExpandOn(ctx, s.on(device), ask); x == nil {
				return nil, err
			}
			x.Device = device
		}
	}
	if err != nil {
		return x, err
	}
	return x, CheckDevices(x.Base, x.Points, check)
}

// question is a device for a number of ranks.
type question struct {
	device string
	ranks  int
}

// use is what points ask for: how many do, and the label of the first.
type use struct {
	question
	points int
	first  string
}

// usesOf takes the uses of a device out of a list, the fewest ranks first.
func usesOf(device string, list *[]use) (same []use) {
	var others []use
	for _, u := range *list {
		if u.device == device {
			same = append(same, u)
		} else {
			others = append(others, u)
		}
	}
	*list = others
	slices.SortStableFunc(same, func(a, b use) int { return a.ranks - b.ranks })
	return same
}

// CheckDevices asks for every device that points ask of this machine, once for each number of ranks. Everything that is missing
// is one *SpaceError.
func CheckDevices(base experiment.Experiment, points []Point, check DeviceCheck) error {
	at := map[question]int{}
	var uses []use
	for _, p := range points {
		device, here := p.device(base)
		if !here || device == experiment.DeviceAuto || device == experiment.DeviceCPU {
			continue // every machine has a processor, which is what a point takes that leaves it open
		}
		q := question{device, p.Ranks}
		if _, known := at[q]; !known {
			at[q] = len(uses)
			uses = append(uses, use{question: q, first: p.Label})
		}
		uses[at[q]].points++
	}
	var texts []string
	told, asIn := map[string]int{}, map[string]string{}
	for len(uses) > 0 {
		same := usesOf(uses[0].device, &uses)
		_, few := check(same[0].device, same[0].ranks)
		for i, u := range slices.Backward(same) { // the most ranks lack the most
			err := few
			if i > 0 {
				_, err = check(u.device, u.ranks)
			}
			if err == nil {
				continue
			}
			text, n := err.Error(), u.points
			if few != nil { // the device is not here at all: once is enough
				n = 0
				for _, other := range same {
					n += other.points
				}
			}
			if told[text] == 0 {
				texts, asIn[text] = append(texts, text), u.first
			}
			told[text] += n
			if few != nil {
				break
			}
		}
	}
	var bad problems
	for _, text := range texts {
		where := many(told[text], "point")
		if told[text] < len(points) && asIn[text] != "" {
			where += ", as in " + asIn[text]
		}
		bad.add("%s (%s)", text, where)
	}
	return bad.err()
}

// device is what a point's ranks compute on, as it is said, and whether they are on this machine.
func (p Point) device(base experiment.Experiment) (device string, here bool) {
	where := base.Where.Where
	device = base.Step.Device
	for _, a := range p.Set {
		switch a.Key {
		case "device":
			device = a.Value
		case "where":
			where = a.Value
		}
	}
	return cmp.Or(device, experiment.DeviceAuto), isLocal(where)
}

func isLocal(where string) bool { return where == "" || where == experiment.WhereLocal }

// open is the most ranks of the points that leave their device open; 0: there are none, or some ranks are on other machines, which
// nobody can ask.
func (x *Expansion) open() (ranks int) {
	points := x.Points
	if len(points) == 0 { // what the processor cannot do prunes them all
		for _, p := range x.Pruned {
			points = append(points, Point{Set: p.Set, Ranks: ranksOf(p, x.Base)})
		}
	}
	for _, p := range points {
		switch device, here := p.device(x.Base); {
		case !here:
			return 0
		case device == experiment.DeviceAuto:
			ranks = max(ranks, p.Ranks)
		}
	}
	return ranks
}

func ranksOf(p Pruned, base experiment.Experiment) int {
	e, err := Point{Set: p.Set}.Experiment(base)
	if err != nil {
		return 0
	}
	return e.World()
}

// on is the space with a device wherever it leaves it open.
func (s Spec) on(device string) Spec {
	set, axes := []Assign{}, slices.Clone(s.Axes)
	said := false
	for _, a := range s.Set {
		if a.Key == "device" {
			a.Value, said = settled(a.Value, device), true
		}
		set = append(set, a)
	}
	for i, axis := range axes {
		k := slices.Index(axis.Keys, "device")
		if k < 0 {
			continue
		}
		said = said || axis.always()
		axes[i].Text, axes[i].Values = "", slices.Clone(axis.Values)
		for j, entry := range axis.Values {
			if k < len(entry) {
				axes[i].Values[j] = slices.Clone(entry)
				axes[i].Values[j][k] = settled(entry[k], device)
			}
		}
	}
	if !said {
		set = append(set, Assign{Key: "device", Value: device})
	}
	s.Set, s.Axes = set, axes
	return s
}

func settled(value, device string) string {
	if value == "" || value == experiment.DeviceAuto {
		return device
	}
	return value
}

// Settled is the space with the device that its expansion settled.
func (s Spec) Settled(x *Expansion) Spec {
	if x == nil || x.Device == "" {
		return s
	}
	return s.on(x.Device)
}
