package slurm

import (
	"fmt"
	"strconv"
	"strings"
)

// Allocation is the job that a process runs in, as its environment says.
type Allocation struct {
	Job      Ref
	Nodes    int
	Hosts    string // in Slurm's short form, see Expand
	CPUs     int    // of the node that gives the fewest; 0: unknown
	Restarts int    // how often Slurm has started the job again
	// InStep says that the process is a task that srun started, and Task which.
	InStep bool
	Task   Task
}

// Task is one of the tasks of a step.
type Task struct {
	Number, Of int // among all
	Node       int // number of its node within the step
	Nodes      int
	Name       string // of the node; empty: unknown
}

// Inside describes the allocation that the environment names; ok is false outside of one.
func Inside(getenv func(string) string) (a Allocation, ok bool) {
	id := getenv("SLURM_JOB_ID")
	if id == "" {
		id = getenv("SLURM_JOBID")
	}
	a.Job = Ref{ID: id}
	if a.Job.Check() != nil {
		return Allocation{}, false
	}
	a.Nodes = number(first(getenv, "SLURM_JOB_NUM_NODES", "SLURM_NNODES"))
	a.Hosts = first(getenv, "SLURM_JOB_NODELIST", "SLURM_NODELIST")
	a.CPUs = leastCPUs(getenv("SLURM_JOB_CPUS_PER_NODE"))
	a.Restarts = number(getenv("SLURM_RESTART_COUNT"))
	step := first(getenv, "SLURM_STEP_ID", "SLURM_STEPID")
	if a.InStep = digits(step) && getenv("SLURM_PROCID") != ""; a.InStep {
		a.Task = Task{Number: number(getenv("SLURM_PROCID")), Of: number(first(getenv, "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS")),
			Node: number(getenv("SLURM_NODEID")), Nodes: number(first(getenv, "SLURM_STEP_NUM_NODES", "SLURM_NNODES")), Name: getenv("SLURMD_NODENAME")}
	}
	return a, true
}

func first(getenv func(string) string, names ...string) string {
	for _, name := range names {
		if v := getenv(name); v != "" {
			return v
		}
	}
	return ""
}

// leastCPUs reads 8(x2),4: so many CPUs on so many nodes, and gives the fewest.
func leastCPUs(text string) int {
	least := 0
	for part := range strings.SplitSeq(text, ",") {
		n, _, _ := strings.Cut(part, "(")
		if v := number(n); v > 0 && (least == 0 || v < least) {
			least = v
		}
	}
	return least
}

// Step is a program to be started once on each of some nodes of an allocation.
type Step struct {
	Name        string
	Nodes       int
	CPUsPerNode int    // 0: srun's own choice, which may be a single one
	Folder      string // that tasks start in; absolute
	Output      string // file for each task's output, within the folder; %t in it becomes the task's number
	Exclude     []string
	Version     Version // of Slurm; zero: a recent one
	Program     []string
}

// Arguments are srun's. The step shares the allocation with whatever else runs in it, and takes all memory of the job on
// each node. A task that fails ends no other: whoever looks after them knows better which failed first. srun's own output carries nothing.
// Output is a name without a folder, since srun replaces parts of a path that look like %t, some even where they are written as %%5t; the
// name of the folder it takes as it is.
func (s Step) Arguments() []string {
	n := strconv.Itoa(max(1, s.Nodes))
	args := []string{"--job-name=" + s.Name, "--nodes=" + n, "--ntasks=" + n, "--ntasks-per-node=1", "--input=none", "--output=" + s.Output,
		"--open-mode=append", "--kill-on-bad-exit=0", "--wait=0", "--no-kill", "--chdir=" + s.Folder, "--export=ALL", "--mpi=none", "--mem=0"}
	if !s.Version.Before(20, 11) { // earlier ones share without being told, and know no such option
		args = append(args, "--overlap")
	}
	if s.CPUsPerNode > 0 {
		args = append(args, fmt.Sprintf("--cpus-per-task=%d", s.CPUsPerNode))
	}
	if len(s.Exclude) > 0 {
		args = append(args, "--exclude="+strings.Join(s.Exclude, ","))
	}
	return append(args, s.Program...)
}

// StepEnvironment is the environment to start srun with: without settings of the surrounding job that would shape the step anew.
func StepEnvironment(env []string) []string {
	var out []string
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		switch {
		case strings.HasPrefix(name, "SRUN_"), shaping[name]:
			continue
		}
		out = append(out, v)
	}
	return out
}

// shaping are variables of a job that srun takes for options of a step.
var shaping = map[string]bool{
	"SLURM_NTASKS": true, "SLURM_NPROCS": true, "SLURM_NTASKS_PER_NODE": true, "SLURM_TASKS_PER_NODE": true, "SLURM_CPUS_PER_TASK": true,
	"SLURM_DISTRIBUTION": true, "SLURM_NTASKS_PER_CORE": true, "SLURM_NTASKS_PER_SOCKET": true, "SLURM_NTASKS_PER_GPU": true,
	"SLURM_MEM_PER_CPU": true, "SLURM_MEM_PER_NODE": true, "SLURM_MEM_PER_GPU": true, "SLURM_CPU_BIND": true, "SLURM_CPU_BIND_TYPE": true,
	"SLURM_CPU_BIND_LIST": true, "SLURM_CPU_BIND_VERBOSE": true, "SLURM_EXPORT_ENV": true, "SLURM_EXCLUSIVE": true, "SLURM_KILL_BAD_EXIT": true,
	"SLURM_STDOUTMODE": true, "SLURM_STDERRMODE": true, "SLURM_STDINMODE": true, "SLURM_LABELIO": true, "SLURM_UNBUFFEREDIO": true,
	"SLURM_WORKING_DIR": true, "SLURM_REMOTE_CWD": true, "SLURM_TIMELIMIT": true, "SLURM_WAIT": true, "SLURM_THREAD_SPEC": true, "SLURM_OPEN_MODE": true,
	"SLURM_HINT": true, "SLURM_THREADS_PER_CORE": true, "SLURM_MPI_TYPE": true,
}
