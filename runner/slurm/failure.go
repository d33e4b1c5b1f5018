package slurm

import (
	"regexp"
	"strconv"
	"strings"
)

// TaskFailure is what srun says of tasks that ended badly.
type TaskFailure struct {
	Nodes string // in Slurm's short form; empty: not said
	Tasks []int
	How   string // "Exited with exit code 2", "Killed"
}

// taskFailure is "srun: error: node2: task 1: Exited with exit code 2", or of several tasks: "node[2-3]: tasks 1-2,5: Killed".
var taskFailure = regexp.MustCompile(`^srun: error: ([^ :]+): tasks? ([0-9,-]+): (.+)$`)

// launchFailure is "srun: error: task 1 launch failed: Slurmd could not connect IO": the node is not named.
var launchFailure = regexp.MustCompile(`^srun: error: tasks? ([0-9,-]+) launch failed: (.+)$`)

// ParseTaskFailure reads a line of srun's; false: it is about something else.
func ParseTaskFailure(line string) (TaskFailure, bool) {
	if m := launchFailure.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
		line = "srun: error: ?: tasks " + m[1] + ": could not be started: " + m[2]
	}
	m := taskFailure.FindStringSubmatch(strings.TrimSpace(line))
	if m == nil {
		return TaskFailure{}, false
	}
	f := TaskFailure{Nodes: strings.TrimPrefix(m[1], "?"), How: m[3]}
	for part := range strings.SplitSeq(m[2], ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		a, err1 := strconv.ParseUint(low, 10, 31)
		b, err2 := strconv.ParseUint(high, 10, 31)
		if err1 != nil || err2 != nil || b < a || b-a >= maxHosts || len(f.Tasks) > maxHosts {
			return TaskFailure{}, false
		}
		for n := a; n <= b; n++ {
			f.Tasks = append(f.Tasks, int(n))
		}
	}
	return f, true
}

// StepEnd is what srun says of a step that ends as a whole, before it says of each task that it was killed.
type StepEnd struct {
	Node   string // that failed; empty: it was srun that was told to end, or the number says it
	Number int    // of the node in the step, from 1, where srun has no name for it; 0: it has, or none failed
	How    string // why nothing could be started there; empty: it was lost later
}

// stepLaunch is "srun: error: Task launch for StepId=12.0 failed on node node2: Communication connection failure", before Slurm
// 20.11 "... for 12.0 failed ...".
var stepLaunch = regexp.MustCompile(`^srun: error: Task launch for \S+ failed on node ([^ :]+): (.+)$`)

// nodeFailure is "srun: error: Node failure on node2".
var nodeFailure = regexp.MustCompile(`^srun: error: Node failure on ([^ ]+)$`)

// missingStep is "srun: error: Aborting, io error and missing step on node 1": that of a node which started anew in the meantime. It
// is counted from 0.
var missingStep = regexp.MustCompile(`^srun: error: Aborting, io error and missing step on node ([0-9]{1,6})$`)

// ParseStepEnd reads a line of srun's; false: it is about something else.
func ParseStepEnd(line string) (StepEnd, bool) {
	line = strings.TrimSpace(line)
	if m := stepLaunch.FindStringSubmatch(line); m != nil {
		return StepEnd{Node: m[1], How: m[2]}, true
	}
	if m := nodeFailure.FindStringSubmatch(line); m != nil {
		return StepEnd{Node: m[1]}, true
	}
	if m := missingStep.FindStringSubmatch(line); m != nil {
		n, err := strconv.Atoi(m[1])
		return StepEnd{Number: n + 1}, err == nil
	}
	return StepEnd{}, line == "srun: forcing job termination"
}
