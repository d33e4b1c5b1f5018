package slurm

import (
	"context"
	"strconv"
	"strings"
)

// Place is where a job stands among those that wait for the same partition, by priority, as far as the user may see them.
type Place struct {
	Position int // from 1 on; 0: unknown
	Of       int
}

var placeColumns = []column{
	{"jobid", 16, func(j *Job, s string) { j.ID = s }},
	{"prioritylong", 24, func(j *Job, s string) { j.Priority, _ = strconv.ParseUint(s, 10, 64) }},
}

// Queue says where a job that waits stands. Priorities decide; who has the same came first by number.
func (c *Client) Queue(ctx context.Context, j Job) (Place, error) {
	if j.Partition == "" || j.Priority == 0 || !j.Waits() {
		return Place{}, nil
	}
	args := j.on("--noheader", "--states=PENDING", "--partition="+j.Partition)
	out, cols, err := c.ask(ctx, args, placeColumns)
	if err != nil || len(cols) != len(placeColumns) {
		return Place{}, err
	}
	return placeOf(out, j, cols), nil
}

func placeOf(out string, j Job, cols []column) Place {
	p, there := Place{Position: 1}, false
	own, _ := strconv.ParseUint(j.ID, 10, 64)
	for line := range strings.Lines(out) {
		other, ok := cut(strings.TrimRight(line, "\r\n"), cols)
		if !ok {
			continue
		}
		if p.Of++; other.ID == j.ID {
			there = true
			continue
		}
		id, _ := strconv.ParseUint(other.ID, 10, 64)
		if other.Priority > j.Priority || other.Priority == j.Priority && id < own {
			p.Position++
		}
	}
	if !there {
		return Place{}
	}
	return p
}
