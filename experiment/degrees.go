package experiment

import (
	"fmt"
	"strings"
)

// Degrees is "tp 2 dp 2 pp 4 zero 1 sp": how many ranks share the work and how. tp always is said, the others where they are.
func (p Parallel) Degrees() string {
	return strings.TrimSpace(fmt.Sprintf("tp %d %s", p.TP, p.Beside()))
}

// Beside is what Degrees says beside tp; "" nothing.
func (p Parallel) Beside() string {
	var out []string
	for _, d := range []struct {
		name     string
		n, least int
	}{{"dp", p.DP, 1}, {"pp", p.PP, 1}, {"zero", p.Zero, 0}} {
		if d.n > d.least {
			out = append(out, fmt.Sprintf("%s %d", d.name, d.n))
		}
	}
	if p.SP {
		out = append(out, "sp")
	}
	return strings.Join(out, " ")
}

// Place is the stage and the replica, from 0, that a rank belongs to: ranks of one tensor-parallel group follow each other, then
// come replicas, then stages.
func (p Parallel) Place(rank int) (stage, replica int) {
	tp, dp := max(p.TP, 1), max(p.DP, 1)
	return rank / (tp * dp), rank / tp % dp
}
