package slurm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Find says what Slurm knows of jobs: all that wait or run by one question for each cluster, and what became of each of the others
// from the controller's memory, then from accounting, where there is some. A job that nobody knows any more has Vanished
// set; one that could not be asked about is missing from the answer, and in the error.
func (c *Client) Find(ctx context.Context, refs []Ref) (map[Ref]Job, error) {
	found := make(map[Ref]Job, len(refs))
	clusters := map[string][]string{}
	for _, r := range refs {
		if err := r.Check(); err != nil {
			return nil, err
		}
		clusters[r.Cluster] = append(clusters[r.Cluster], r.ID)
	}
	var errs []error
	for cluster, ids := range clusters {
		jobs, err := c.queue(ctx, cluster, ids)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, id := range ids {
			r := Ref{ID: id, Cluster: cluster}
			j, ok := jobs[id]
			if !ok || j.Over() { // of the latter the controller says more
				if j, err = c.Past(ctx, r); err != nil {
					errs = append(errs, err)
					continue
				}
			}
			found[r] = j
		}
	}
	return found, errors.Join(errs...)
}

// Past asks about one job, which may be over since a while.
func (c *Client) Past(ctx context.Context, r Ref) (Job, error) {
	if err := r.Check(); err != nil {
		return Job{}, err
	}
	out, _, err := c.query(ctx, "scontrol", r.on("--oneliner", "show", "job", r.ID)...)
	if err == nil {
		if j, ok := parseControl(out, r.ID); ok {
			j.Cluster = r.Cluster
			if j.State == Timeout && j.Preempted { // its time was cut
				j.State = Preempted
			}
			return j, nil
		}
		return Job{}, &toolError{tool: "scontrol", message: "says nothing of job " + r.ID + " that is understood"}
	}
	if !unknownJob(err) {
		return Job{}, err
	}
	// What the controller knows no longer is over, even if accounting, which missed its end, has it running for ever.
	if j, ok := c.account(ctx, r); ok && j.Over() {
		return j, nil
	}
	return Job{Ref: r, Vanished: true}, nil
}

// unknownJob reports that the controller no longer knows a job, which is an answer and no failure.
func unknownJob(err error) bool {
	var t *toolError
	return errors.As(err, &t) && strings.Contains(strings.ToLower(t.message), "invalid job id")
}

// column is a field of squeue -O, with so many bytes of room: older versions know no separators, so lines are cut by width.
type column struct {
	name  string
	width int
	set   func(j *Job, text string)
}

// columns are what is asked of jobs that wait or run. Names are in lower case, which every version takes.
var columns = []column{
	{"jobid", 16, func(j *Job, s string) { j.ID = s }},
	{"state", 20, func(j *Job, s string) { j.State = parseState(s) }},
	{"reason", 120, func(j *Job, s string) { j.Reason = word(s) }},
	{"starttime", 24, func(j *Job, s string) { j.Start = parseTime(s) }},
	{"endtime", 24, func(j *Job, s string) { j.End = parseTime(s) }},
	{"submittime", 24, func(j *Job, s string) { j.Submitted = parseTime(s) }},
	{"timelimit", 20, func(j *Job, s string) { j.Limit, j.Unlimited = parseLimit(s) }},
	{"partition", 80, func(j *Job, s string) { j.Partition = s }},
	{"prioritylong", 24, func(j *Job, s string) { j.Priority, _ = strconv.ParseUint(s, 10, 64) }},
	{"numnodes", 12, func(j *Job, s string) { j.NodeCount = nodeCount(s) }},
	{"restartcnt", 12, func(j *Job, s string) { j.Restarts = number(s) }},
	{"username", 64, func(j *Job, s string) { j.User = s }},
	{"nodelist", 512, func(j *Job, s string) { j.Nodes = word(s) }},
	{"name", 128, func(j *Job, s string) { j.Name = s }},
}

// queue asks for jobs that wait or run. One that is not there is no error.
func (c *Client) queue(ctx context.Context, cluster string, ids []string) (map[string]Job, error) {
	args := Ref{Cluster: cluster}.on("--noheader", "--states=all", "--jobs="+strings.Join(ids, ","))
	out, cols, err := c.ask(ctx, args, columns)
	if unknownJob(err) { // it was the only one asked for
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	jobs := map[string]Job{}
	for line := range strings.Lines(out) {
		j, ok := cut(strings.TrimRight(line, "\r\n"), cols)
		if ok && slices.Contains(ids, j.ID) {
			j.Cluster = cluster
			jobs[j.ID] = j
		}
	}
	return jobs, nil
}

// ask has squeue print columns, and says which it did print: those that this version does not know are left out. Such a version
// says so on stderr, prints nothing in their place, and calls that a success.
func (c *Client) ask(ctx context.Context, args []string, want []column) (string, []column, error) {
	for range len(want) {
		cols := c.known(want)
		if len(cols) == 0 {
			break
		}
		var fields []string
		for _, col := range cols {
			fields = append(fields, fmt.Sprintf("%s:%d", col.name, col.width))
		}
		out, said, err := c.query(ctx, "squeue", append(slices.Clone(args), "--Format="+strings.Join(fields, ","))...)
		if c.learn(said, cols) {
			continue
		}
		return out, cols, err
	}
	return "", nil, &toolError{tool: "squeue", message: "knows none of the fields that it is asked for"}
}

// known are the columns that squeue is not known to lack.
func (c *Client) known(want []column) []column {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(want), func(col column) bool { return c.unknown[col.name] })
}

// learn notes which columns squeue complains about; false: none.
func (c *Client) learn(said string, asked []column) bool {
	learned := false
	c.mu.Lock()
	defer c.mu.Unlock()
	for part := range strings.SplitSeq(strings.ToLower(said), "; ") {
		_, name, ok := strings.Cut(part, "invalid job format specification: ")
		if !ok {
			continue
		}
		name, _, _ = strings.Cut(strings.TrimSpace(name), ":")
		if slices.ContainsFunc(asked, func(col column) bool { return col.name == name }) {
			if c.unknown == nil {
				c.unknown = map[string]bool{}
			}
			c.unknown[name], learned = true, true
		}
	}
	return learned
}

// cut reads a line of columns. A line without the number of a job is none.
func cut(line string, cols []column) (Job, bool) {
	var j Job
	for _, col := range cols {
		text := line
		if len(text) > col.width {
			text = text[:col.width]
		}
		line = line[len(text):]
		col.set(&j, strings.TrimSpace(text))
	}
	return j, digits(j.ID) && len(j.ID) <= maxID
}

// word is a value that may be absent.
func word(s string) string {
	switch s = strings.TrimSpace(s); s {
	case "(null)", "None", "N/A", "n/a", "none":
		return ""
	}
	return s
}

// number is a small count, 0 where it is none.
func number(s string) int {
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 31)
	if err != nil {
		return 0
	}
	return int(n)
}

// nodeCount reads a number of nodes, or a range, of which the least counts.
func nodeCount(s string) int {
	least, _, _ := strings.Cut(s, "-")
	return number(least)
}

// Ping says whether the controller answers.
func (c *Client) Ping(ctx context.Context) error {
	_, _, err := c.ask(ctx, []string{"--noheader", "--states=SUSPENDED"}, []column{columns[0]})
	var t *toolError
	if errors.As(err, &t) { // it answered, to whatever this version knows
		return nil
	}
	return err
}
