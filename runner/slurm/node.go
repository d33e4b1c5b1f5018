package slurm

import (
	"context"
	"slices"
	"strings"
)

// Down are those of some nodes that Slurm does not reach.
func (c *Client) Down(ctx context.Context, nodes []string) ([]string, error) {
	out, _, err := c.query(ctx, "scontrol", "--oneliner", "show", "node", strings.Join(nodes, ","))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return !slices.Contains(parseDown(out), n) }), nil
}

// parseDown reads `scontrol --oneliner show node`. Names come first in a line, and the state before all that is anybody's text.
func parseDown(out string) (down []string) {
	for line := range strings.Lines(out) {
		name, rest, ok := strings.Cut(strings.TrimSpace(line), " ")
		if name, ok2 := strings.CutPrefix(name, "NodeName="); ok && ok2 {
			_, state, _ := strings.Cut(" "+rest, " State=")
			state, _, _ = strings.Cut(state, " ")
			if strings.HasPrefix(state, "DOWN") || strings.Contains(state, "NOT_RESPONDING") || strings.HasSuffix(state, "*") {
				down = append(down, name)
			}
		}
	}
	return down
}
