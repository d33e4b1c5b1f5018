package slurm

import (
	"context"
	"strings"
)

// accountFields are named one by one, in words that every version has.
const accountFields = "JobID,State,ExitCode,Submit,Start,End,Partition,User,NNodes,NodeList"

// account asks accounting about a job that the controller has forgotten; false where it does not know either, or is off.
func (c *Client) account(ctx context.Context, r Ref) (Job, bool) {
	c.mu.Lock()
	off := c.noSacct
	c.mu.Unlock()
	if off {
		return Job{}, false
	}
	if _, err := c.lookup("sacct"); err != nil {
		return Job{}, false
	}
	out, said, err := c.query(ctx, "sacct", r.on("--allocations", "--noheader", "--parsable2", "--jobs="+r.ID, "--format="+accountFields)...)
	if strings.Contains(said, "accounting storage is disabled") {
		c.mu.Lock()
		c.noSacct = true
		c.mu.Unlock()
	}
	if err != nil {
		return Job{}, false
	}
	j, ok := parseAccount(out, r.ID)
	j.Cluster = r.Cluster
	return j, ok
}

// parseAccount reads the last line about a job: a job that was requeued may have one for each time.
func parseAccount(out, id string) (j Job, ok bool) {
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimRight(line, "\r\n"), "|")
		if len(f) != strings.Count(accountFields, ",")+1 || f[0] != id || f[1] == "" {
			continue
		}
		j = Job{Ref: Ref{ID: id}, State: parseState(f[1]), Exit: parseExit(f[2]), Submitted: parseTime(f[3]), Start: parseTime(f[4]),
			End: parseTime(f[5]), Partition: f[6], User: f[7], NodeCount: number(f[8]), Nodes: word(f[9])}
		if j.Nodes == "None assigned" {
			j.Nodes = ""
		}
		ok = true
	}
	return j, ok
}
