package space

// Beyond is what of the expansion is not planned yet, for a sweep that grows: points and pruned ones with other IDs than
// those given. Points that were planned before and have twins only now are in Links.
func (x *Expansion) Beyond(points []Point, pruned []Pruned) *Expansion {
	planned, known := map[string]Point{}, map[string]bool{}
	for _, p := range points {
		planned[p.ID] = p
	}
	for _, p := range pruned {
		known[p.ID] = true
	}
	rest := *x
	rest.Points, rest.Pruned, rest.Links, rest.Twins = nil, nil, nil, 0
	for _, p := range x.Points {
		old, there := planned[p.ID]
		switch {
		case !there:
			rest.Points = append(rest.Points, p)
			if p.Twin {
				rest.Twins++
			}
		case old.Full != p.Full && p.Full != "" || old.Vanilla != p.Vanilla && p.Vanilla != "":
			rest.Links = append(rest.Links, Link{Point: p.ID, Full: p.Full, Vanilla: p.Vanilla})
		}
	}
	for _, p := range x.Pruned {
		if !known[p.ID] {
			rest.Pruned = append(rest.Pruned, p)
		}
	}
	return &rest
}
