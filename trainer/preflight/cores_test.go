package preflight

import (
	"context"
	"encoding/json"
	"testing"

	"boost-tui/runner/protocol"
)

// told is a meeting in which every rank has said already what it has found.
type told struct {
	Meeting
	found map[string]found
}

func (m told) Wait(_ context.Context, key string, _ int) ([]byte, error) {
	return json.Marshal(m.found[key])
}

// Ranks that are bound to processors each see their own: a node has those of its ranks together.
func TestCoresAreThoseOfAllRanksOfANode(t *testing.T) {
	p := &probe{hosts: []host{{First: 0, Ranks: 2, Name: "a"}, {First: 2, Ranks: 2, Name: "b"}}}
	p.Meet = told{found: map[string]found{
		foundKey(0): {Node: protocol.Node{Name: "a", Cores: 1}, CPUs: []int{0, 1}}, foundKey(1): {CPUs: []int{2, 3}},
		foundKey(2): {Node: protocol.Node{Name: "b", Cores: 8}, CPUs: []int{0, 1, 2}}, foundKey(3): {CPUs: []int{0, 1, 2}},
	}}
	var r protocol.Preflight
	if err := p.gather(t.Context(), &r); err != nil {
		t.Fatal(err)
	}
	if r.Nodes[0].Cores != 4 || r.Nodes[1].Cores != 8 {
		t.Errorf("cores %d and %d", r.Nodes[0].Cores, r.Nodes[1].Cores)
	}
}
