package slurm

import (
	"cmp"
	"fmt"
	"strings"
	"syscall"
	"time"
)

// Ref names a job: its number, and the cluster where that is not the machine's own.
type Ref struct {
	ID      string `json:"id"`
	Cluster string `json:"cluster,omitempty"`
}

// maxID is more digits than any job id has: Slurm's are 32 bits.
const maxID = 12

// Check refuses what cannot be a job's id: it becomes an argument, and a file may have brought it here.
func (r Ref) Check() error {
	if !digits(r.ID) || len(r.ID) > maxID {
		return fmt.Errorf("%.40q is no number of a Slurm job", r.ID)
	}
	for _, c := range r.Cluster {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.') {
			return fmt.Errorf("%.40q is no name of a cluster", r.Cluster)
		}
	}
	if len(r.Cluster) > 80 || strings.HasPrefix(r.Cluster, "-") {
		return fmt.Errorf("%.40q is no name of a cluster", r.Cluster)
	}
	return nil
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// on are the arguments that lead a tool to the job's cluster.
func (r Ref) on(args ...string) []string {
	if r.Cluster == "" {
		return args
	}
	return append([]string{"--clusters=" + r.Cluster}, args...)
}

// Job is what Slurm says about a job. Zero values are unknown.
type Job struct {
	Ref
	Name      string
	User      string
	UserID    string // number of the user; empty: unknown
	State     State
	Reason    string // why it waits or how it ended, in Slurm's own word; empty: none
	Partition string
	Priority  uint64
	Submitted time.Time
	Start     time.Time // of one that waits: Slurm's estimate
	End       time.Time // of one that runs: when its time is up
	Ran       time.Duration
	Preempted bool // another job takes its nodes
	Limit     time.Duration
	Unlimited bool   // it has no time limit
	Nodes     string // in Slurm's short form, see Expand
	NodeCount int
	Restarts  int
	Exit      Exit
	// Vanished says that Slurm knows the job no longer: it ended, and some time ago.
	Vanished bool
}

// Exit is how a job's script ended.
type Exit struct {
	Code, Signal int
	Known        bool
}

// State is a job's, as Slurm writes it; one that this package does not know is kept as it is.
type State string

// States that have a meaning here. There are more, which waiting, running or being over includes.
const (
	Pending     State = "PENDING"
	Configuring State = "CONFIGURING"
	Running     State = "RUNNING"
	Completing  State = "COMPLETING"
	Suspended   State = "SUSPENDED"
	Completed   State = "COMPLETED"
	Failed      State = "FAILED"
	Cancelled   State = "CANCELLED"
	Timeout     State = "TIMEOUT"
	NodeFail    State = "NODE_FAIL"
	Preempted   State = "PREEMPTED"
	OutOfMemory State = "OUT_OF_MEMORY"
	Requeued    State = "REQUEUED"
)

// Phase is what a state comes to.
type Phase int

// Phases. Unknown is not over: a run must not be called lost for a word of a later version.
const (
	Unknown Phase = iota
	Waits
	Runs
	Over
)

var phases = map[State]Phase{
	Pending: Waits, Requeued: Waits, "REQUEUE_FED": Waits, "REQUEUE_HOLD": Waits, "SPECIAL_EXIT": Waits, "RESV_DEL_HOLD": Waits,
	Configuring: Runs, Running: Runs, Completing: Runs, Suspended: Runs, "STOPPED": Runs, "RESIZING": Runs, "SIGNALING": Runs,
	"STAGE_OUT": Runs, "EXPEDITING": Waits,
	Completed: Over, Failed: Over, Cancelled: Over, Timeout: Over, NodeFail: Over, Preempted: Over, OutOfMemory: Over,
	"BOOT_FAIL": Over, "DEADLINE": Over, "REVOKED": Over, "LAUNCH_FAILED": Over, "RECONFIG_FAIL": Over,
}

// short are the two letters that some outputs give instead.
var short = map[string]State{
	"PD": Pending, "CF": Configuring, "R": Running, "CG": Completing, "S": Suspended, "CD": Completed, "F": Failed, "CA": Cancelled,
	"TO": Timeout, "NF": NodeFail, "PR": Preempted, "OOM": OutOfMemory, "BF": "BOOT_FAIL", "DL": "DEADLINE", "RQ": Requeued,
	"RH": "REQUEUE_HOLD", "SE": "SPECIAL_EXIT", "RD": "RESV_DEL_HOLD", "RS": "RESIZING", "SI": "SIGNALING", "SO": "STAGE_OUT",
	"ST": "STOPPED", "RV": "REVOKED", "RF": "REQUEUE_FED",
}

// parseState reads a state: sacct adds who cancelled, and a "+" where its column is too narrow.
func parseState(text string) State {
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	word = strings.ToUpper(strings.TrimRight(word, "+"))
	if s, ok := short[word]; ok {
		return s
	}
	if _, ok := phases[State(word)]; ok {
		return State(word)
	}
	var fit []State
	for s := range phases {
		if len(word) >= 6 && strings.HasPrefix(string(s), word) { // cut off
			fit = append(fit, s)
		}
	}
	if len(fit) == 1 {
		return fit[0]
	}
	return State(word)
}

// Phase says what the state comes to.
func (s State) Phase() Phase { return phases[s] }

// Over reports that the job has ended.
func (j Job) Over() bool { return j.Vanished || j.State.Phase() == Over }

// Waits reports that the job waits to be started, for the first time or again.
func (j Job) Waits() bool { return !j.Vanished && j.State.Phase() == Waits }

// limitSlack is how much earlier than its limit a job may be ended for it, and have run by its own account.
const limitSlack = 5 * time.Second

// Ended is the job as it will be once it has ended, where it is being ended: until then Slurm says only that it is, and of one that
// is preempted not even that. restarts is how often it had been started again when it began.
func (j Job) Ended(restarts int) Job {
	switch {
	case j.Preempted && (j.State.Phase() == Runs || j.State == Timeout):
		j.State = Preempted
	case j.Restarts > restarts:
		j.State = Requeued
	case j.State != Completing:
	case j.Limit > 0 && j.Ran >= j.Limit-limitSlack:
		j.State = Timeout
	case j.Reason == "NodeFail" || j.Reason == "NodeDown":
		j.State = NodeFail
	case j.Exit.Code > 0 || j.Exit.Signal > 0 && j.Exit.Signal != int(syscall.SIGTERM):
		j.State = Failed
	default:
		j.State = Cancelled
	}
	return j
}

// Ending says in words how a job ended that is over. It makes a sentence with "its Slurm job 12" before it.
func (j Job) Ending() string {
	if j.Vanished {
		return "vanished from the queue, and nothing says how it ended (accounting is off, or missed it)"
	}
	text := map[State]string{
		Completed: "ended by itself", Cancelled: "was cancelled (scancel)", Timeout: "reached its time limit" + j.limitWords(),
		NodeFail: "lost a node: Slurm does not reach it any more", Requeued: "was put back into the queue (scontrol requeue, or a node failed)", Preempted: "was preempted: another job needed its nodes",
		OutOfMemory: "used more memory than it had asked for", "BOOT_FAIL": "ended: its nodes did not start",
		"DEADLINE": "reached its deadline", "REVOKED": "was taken over by another cluster", Failed: "failed",
	}[j.State]
	text = cmp.Or(text, "ended in state "+string(j.State))
	switch {
	case j.State != Failed && j.State != Completed:
	case j.Exit.Signal == noOutput:
		return text + ": its first node could not open the file for its output: does it share the folder of runs?"
	case j.Exit.Signal > 0:
		text += fmt.Sprintf(": signal %d ended its script", j.Exit.Signal)
	case j.Exit.Known && (j.State == Failed || j.Exit.Code > 0):
		text += fmt.Sprintf(" with exit code %d", j.Exit.Code)
	}
	if r := j.Reason; j.State == Failed && r != "" && j.Exit.Signal == 0 && r != "NonZeroExitCode" {
		text += " (" + Words(r) + ")"
	}
	return text
}

// noOutput is what stands in the place of a signal where a node could not open the files of a job.
const noOutput = 53

func (j Job) limitWords() string {
	if j.Limit <= 0 {
		return ""
	}
	return " of " + Clock(j.Limit)
}
