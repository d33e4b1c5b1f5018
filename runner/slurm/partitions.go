package slurm

import (
	"context"
	"regexp"
	"strconv"
	"strings"
)

// Partition is what Slurm says of one that its user can see.
type Partition struct {
	Name    string
	Default bool
	Up      bool
	Limit   string // of a job's time, as Slurm writes it, "7-00:00:00", or "infinite"; empty: unknown
	Nodes   int    // 0: unknown
}

// maxPartitions bounds a list for people.
const maxPartitions = 200

// Partitions lists the partitions that can be asked for, in Slurm's order.
func (c *Client) Partitions(ctx context.Context) ([]Partition, error) {
	out, _, err := c.query(ctx, "sinfo", "--noheader", "--format=%P|%a|%l|%D")
	if err != nil {
		return nil, err
	}
	return parsePartitions(out), nil
}

var (
	partitionName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)
	partitionTime = regexp.MustCompile(`^(infinite|[0-9][0-9:-]{0,20})$`)
)

// parsePartitions reads sinfo's lines. What is not understood is left out; one that is listed twice counts once.
func parsePartitions(out string) (list []Partition) {
	at := map[string]int{}
	for line := range strings.Lines(out) {
		parts := strings.Split(strings.TrimSpace(line), "|")
		if len(parts) != 4 {
			continue
		}
		p := Partition{Up: parts[1] == "up"}
		p.Name, p.Default = strings.CutSuffix(parts[0], "*")
		if !partitionName.MatchString(p.Name) {
			continue
		}
		if partitionTime.MatchString(parts[2]) {
			p.Limit = parts[2]
		}
		if n, err := strconv.ParseUint(parts[3], 10, 31); err == nil {
			p.Nodes = int(n)
		}
		if i, twice := at[p.Name]; twice { // its nodes differ in what was asked for
			list[i].Nodes += p.Nodes
			continue
		}
		if len(list) == maxPartitions {
			break
		}
		at[p.Name] = len(list)
		list = append(list, p)
	}
	return list
}

// Words say what is to know of a partition beside its name, "default, at most 30:00, 4 nodes".
func (p Partition) Words() string {
	var out []string
	if p.Default {
		out = append(out, "default")
	}
	if !p.Up {
		out = append(out, "down")
	}
	if p.Limit != "" && p.Limit != "infinite" {
		out = append(out, "at most "+p.Limit)
	}
	if p.Nodes > 0 {
		unit := " nodes"
		if p.Nodes == 1 {
			unit = " node"
		}
		out = append(out, strconv.Itoa(p.Nodes)+unit)
	}
	return strings.Join(out, ", ")
}
