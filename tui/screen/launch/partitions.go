package launch

import (
	"slices"
	"strings"
	"time"

	"boost-tui/experiment"
	"boost-tui/runner/slurm"
	"boost-tui/tui/layout"

	tea "github.com/charmbracelet/bubbletea"
)

// partitionsEvery is how long an answer about Slurm's partitions, or that there is none, holds.
const partitionsEvery = time.Minute

// queue is when Slurm was asked for its partitions.
type queue struct {
	asking bool
	asked  time.Time
}

// partitionsHeard is its answer.
type partitionsHeard struct {
	list []slurm.Partition
	err  error
}

// askPartitions asks for the partitions, once the draft is for Slurm; nobody waits for the answer.
func (m *Model) askPartitions() tea.Cmd {
	ask, now := m.env.Partitions, m.env.Now()
	if ask == nil || m.queue.asking || m.draft.resolved.Where.Where != experiment.WhereSlurm || !m.queue.asked.IsZero() && now.Sub(m.queue.asked) < partitionsEvery {
		return nil
	}
	m.queue = queue{asking: true, asked: now}
	return func() tea.Msg {
		list, err := ask()
		return partitionsHeard{list, err}
	}
}

// takePartitions keeps the answer; where there is none, what was known before.
func (m *Model) takePartitions(in partitionsHeard) {
	m.queue.asking = false
	if in.err != nil { // whether runs can be started there at all is checked beside it
		m.env.Logf("partitions of Slurm: %v", in.err)
		return
	}
	m.draft.partitions = in.list
	m.draft.settle()
	m.form.SetFields(m.draft.fields())
}

// partitionNames are the values to pick, the default first.
func (d *draft) partitionNames() []string {
	var names []string
	for _, p := range d.partitions {
		if p.Default {
			names = slices.Insert(names, 0, p.Name)
			continue
		}
		names = append(names, p.Name)
	}
	return names
}

// partitionNote says what the partition is, or which ones there are where none is named; "" where Slurm does not say.
func (d *draft) partitionNote() string {
	name := d.resolved.Where.Partition
	if i := slices.IndexFunc(d.partitions, func(p slurm.Partition) bool { return p.Name == name }); i >= 0 {
		return layout.Clean(d.partitions[i].Words())
	}
	var out []string
	for _, p := range d.partitions {
		text := p.Name
		if p.Default {
			text += " (default)"
		}
		out = append(out, text)
	}
	return layout.Clean(strings.Join(out, ", "))
}

// unknownPartition warns of one that Slurm does not list, or that takes no jobs now. It is no obstacle: some are hidden, and what
// is down comes back.
func (d *draft) unknownPartition(w experiment.Where) []experiment.Violation {
	if w.Where != experiment.WhereSlurm || w.Partition == "" || len(d.partitions) == 0 {
		return nil
	}
	for name := range strings.SplitSeq(w.Partition, ",") {
		i := slices.IndexFunc(d.partitions, func(p slurm.Partition) bool { return p.Name == name })
		reason := ""
		switch {
		case i < 0:
			reason = "is none that sinfo lists"
		case !d.partitions[i].Up:
			reason = "takes no jobs now, says sinfo"
		default:
			continue
		}
		near := d.partitionNames()
		return []experiment.Violation{{Key: "partition", Value: layout.Cut(layout.Clean(name[:min(len(name), longValue)]), 40, "~"), Rule: "a partition is there", Reason: reason, Nearest: near[:min(len(near), 3)], Warning: true}}
	}
	return nil
}
