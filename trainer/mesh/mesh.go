// Package mesh says which rank stands where: the parallel dimensions of a job and the groups of
// ranks that communicate along each. Everything is arithmetic on rank numbers, so every rank
// computes the same answer without asking anybody.
//
// Ranks are numbered with tp fastest, then dp, then pp (CUDA.md §2), so that a tensor-parallel
// group, which talks most, is a run of neighbours.
package mesh

import (
	"errors"
	"fmt"
	"math"
)

// Mesh is the size of each parallel dimension. The zero value is not valid; One is.
type Mesh struct {
	TP int // tensor parallel: shards of each layer
	PP int // pipeline parallel: stages of blocks
	DP int // data parallel: replicas that see different samples
}

// One is the mesh of a single rank.
var One = Mesh{TP: 1, PP: 1, DP: 1}

// Axis is one dimension of the mesh.
type Axis uint8

// Axes, in the order in which ranks are numbered.
const (
	TP Axis = iota
	DP
	PP
)

func (a Axis) String() string {
	switch a {
	case TP:
		return "tp"
	case DP:
		return "dp"
	case PP:
		return "pp"
	}
	return fmt.Sprintf("axis(%d)", uint8(a))
}

// Coordinate is where a rank stands along each dimension, from 0.
type Coordinate struct{ TP, PP, DP int }

// Along is the position along one axis: the rank within that axis' group.
func (c Coordinate) Along(a Axis) int {
	switch a {
	case TP:
		return c.TP
	case DP:
		return c.DP
	default:
		return c.PP
	}
}

func (c Coordinate) String() string { return fmt.Sprintf("tp %d, dp %d, pp %d", c.TP, c.DP, c.PP) }

// Validate reports every dimension that is below 1, and a world too large to number.
func (m Mesh) Validate() error {
	var errs []error
	for _, a := range []Axis{TP, DP, PP} {
		if n := m.Size(a); n < 1 {
			errs = append(errs, fmt.Errorf("%s is %d: a parallel dimension is at least 1", a, n))
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	if m.TP > math.MaxInt32/m.DP || m.TP*m.DP > math.MaxInt32/m.PP {
		return fmt.Errorf("tp %d x dp %d x pp %d is more ranks than can be numbered", m.TP, m.DP, m.PP)
	}
	return nil
}

// Size is the extent along an axis.
func (m Mesh) Size(a Axis) int {
	switch a {
	case TP:
		return m.TP
	case DP:
		return m.DP
	default:
		return m.PP
	}
}

// World is the number of ranks.
func (m Mesh) World() int { return m.TP * m.DP * m.PP }

// stride is the distance between neighbours along an axis.
func (m Mesh) stride(a Axis) int {
	switch a {
	case TP:
		return 1
	case DP:
		return m.TP
	default:
		return m.TP * m.DP
	}
}

// Coordinate is where a rank stands.
func (m Mesh) Coordinate(rank int) (Coordinate, error) {
	if rank < 0 || rank >= m.World() {
		return Coordinate{}, fmt.Errorf("rank %d of %d (tp %d, dp %d, pp %d)", rank, m.World(), m.TP, m.DP, m.PP)
	}
	return Coordinate{TP: rank % m.TP, DP: rank / m.TP % m.DP, PP: rank / (m.TP * m.DP)}, nil
}

// Rank is the number of the rank that stands at c.
func (m Mesh) Rank(c Coordinate) (int, error) {
	if c.TP < 0 || c.TP >= m.TP || c.DP < 0 || c.DP >= m.DP || c.PP < 0 || c.PP >= m.PP {
		return 0, fmt.Errorf("no rank at %s of a mesh of tp %d, dp %d, pp %d", c, m.TP, m.DP, m.PP)
	}
	return c.TP + m.TP*(c.DP+m.DP*c.PP), nil
}

// Group is the ranks that differ from rank along one axis only, itself included, in order of
// their coordinate there: a member's index is its rank within the group's communicator.
func (m Mesh) Group(a Axis, rank int) ([]int, error) {
	c, err := m.Coordinate(rank)
	if err != nil {
		return nil, err
	}
	first := rank - c.Along(a)*m.stride(a)
	out := make([]int, m.Size(a))
	for i := range out {
		out[i] = first + i*m.stride(a)
	}
	return out, nil
}

// GroupName is what the group of a rank along an axis is called: "tp", and where there are several, "tp.0", "tp.1" and so
// on, in the order of Groups, so that records of a run tell them apart.
func (m Mesh) GroupName(a Axis, rank int) (string, error) {
	c, err := m.Coordinate(rank)
	if err != nil {
		return "", err
	}
	if m.World() == m.Size(a) {
		return a.String(), nil
	}
	number, times := 0, 1
	for _, b := range []Axis{TP, DP, PP} {
		if b != a {
			number += c.Along(b) * times
			times *= m.Size(b)
		}
	}
	return fmt.Sprintf("%s.%d", a, number), nil
}

// Groups is every group along an axis, ordered by first member. They partition the world.
func (m Mesh) Groups(a Axis) [][]int {
	var out [][]int
	for rank := range m.World() {
		g, err := m.Group(a, rank)
		if err == nil && g[0] == rank {
			out = append(out, g)
		}
	}
	return out
}

// ModelGroup is the ranks that together hold one replica of the model (tp x pp): the group of the
// gradient norm. It is in order of rank.
func (m Mesh) ModelGroup(rank int) ([]int, error) {
	c, err := m.Coordinate(rank)
	if err != nil {
		return nil, err
	}
	out := make([]int, 0, m.TP*m.PP)
	for pp := range m.PP {
		for tp := range m.TP {
			out = append(out, tp+m.TP*(c.DP+m.DP*pp))
		}
	}
	return out, nil
}
