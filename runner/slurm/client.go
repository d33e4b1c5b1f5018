package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	asking "boost-tui/internal/tool"
)

// Client calls Slurm's tools. The zero value takes them from PATH. It may be used by several goroutines.
type Client struct {
	// Lookup finds a tool; nil: exec.LookPath.
	Lookup func(tool string) (string, error)
	// Environ is what tools are started with, before what this package adds; nil: os.Environ.
	Environ func() []string
	// Patience replaces the deadline of a call; 0: queryPatience or submitPatience.
	Patience time.Duration

	mu      sync.Mutex
	unknown map[string]bool // fields that squeue said it does not know
	noSacct bool            // accounting is off here
}

const (
	// queryPatience is how long a question may take. Slurm's own MessageTimeout is 10 s by default and its tools try again.
	queryPatience = 20 * time.Second
	// submitPatience is how long sbatch may take: a controller that is busy makes it try for about half a minute.
	submitPatience = time.Minute
	// maxOutput bounds what a tool may say: 4 MiB are the lines of some 8 000 jobs.
	maxOutput = 4 << 20
)

// MissingError says that a tool is not on this machine.
type MissingError struct{ Tool string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("there is no %s on this machine's PATH: start boost-tui on a login node of the cluster, or load Slurm first "+
		"(module load slurm); `boost-tui doctor` says what is found", e.Tool)
}

// UnreachableError says that Slurm could not be asked; what is asked for is not known.
type UnreachableError struct {
	Tool    string
	Message string // the tool's own, or what happened to it
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("Slurm does not answer (%s: %s)", e.Tool, e.Message)
}

// RejectedError is Slurm's refusal of what it was asked to do: the same again is refused again.
type RejectedError struct{ Message string }

func (e *RejectedError) Error() string { return "Slurm refuses the job: " + e.Message }

// advices say what to do about what sbatch says, by what is in that, in lower case. The first that fits counts.
var advices = []struct{ said, advice string }{
	{"violates", "ask for less, or wait until jobs of yours have ended: `squeue --me` lists them, `sacctmgr show qos` what is allowed"},
	{"account", "name an account and a partition that go together with --account and --partition: `sacctmgr show assoc user=$USER` lists yours"},
	{"partition", "name another one with --partition: `sinfo -s` lists them"},
	{"qos", "name another one with --qos: `sacctmgr show qos` lists them"},
	{"time limit", "ask for less with --time: `sinfo -s` lists the limits of partitions"},
	{"feature", "name another one with --constraint: `sinfo -o '%N %f'` lists what nodes have"},
	{"generic resource", "ask for other GPUs with --gpus-per-node: `sinfo -o '%N %G'` lists what nodes have"},
	{"memory", "take more nodes with --nodes, or less memory: `sinfo -N -l` lists what nodes have"},
	{"node", "ask for other --nodes, or for fewer ranks on each: `sinfo -N -l` lists what there is"},
	{"cpu", "take more nodes with --nodes, or fewer ranks: `sinfo -N -l` lists what there is"},
	{"limit", "ask for less, or wait until jobs of yours have ended: `squeue --me` lists them"},
}

// Advice says what its user can do about a refusal.
func (e *RejectedError) Advice() string {
	said := strings.ToLower(e.Message)
	for _, a := range advices {
		if strings.Contains(said, a.said) {
			return a.advice
		}
	}
	return "change what it names, and launch it again"
}

// toolError is a tool's failure that is neither of the above.
type toolError struct {
	tool, message string
	err           error
}

func (e *toolError) Error() string {
	if e.message == "" {
		return fmt.Sprintf("%s: %v", e.tool, e.err)
	}
	return fmt.Sprintf("%s: %s", e.tool, e.message)
}

func (e *toolError) Unwrap() error { return e.err }

// lookup finds a tool.
func (c *Client) lookup(tool string) (string, error) {
	look := c.Lookup
	if look == nil {
		look = exec.LookPath
	}
	path, err := look(tool)
	if err != nil {
		return "", &MissingError{tool}
	}
	return path, nil
}

// Missing names the first tool of those that a submission needs which is not there; nil: all are.
func (c *Client) Missing() error {
	for _, tool := range []string{"sbatch", "squeue", "scontrol", "scancel"} {
		if _, err := c.lookup(tool); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) environ() []string {
	if c.Environ != nil {
		return c.Environ()
	}
	return os.Environ()
}

// query runs a tool that asks something. Times come in UTC and in the standard form, whatever the user has set.
func (c *Client) query(ctx context.Context, tool string, args ...string) (out, said string, err error) {
	env := slices.DeleteFunc(slices.Clone(c.environ()), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		for _, prefix := range []string{"SQUEUE_", "SACCT_", "SCONTROL_", "SINFO_", "SCANCEL_"} {
			if strings.HasPrefix(name, prefix) { // they change what is listed, and how
				return true
			}
		}
		return name == "TZ" || name == "LC_ALL" || name == "SLURM_TIME_FORMAT" || name == "SLURM_BITSTR_LEN" || name == "SLURM_JSON"
	})
	env = append(env, "TZ=UTC", "LC_ALL=C", "SLURM_TIME_FORMAT=standard")
	return c.call(ctx, queryPatience, env, tool, args...)
}

// call runs a tool and gives what it printed on stdout and on stderr.
func (c *Client) call(ctx context.Context, patience time.Duration, env []string, tool string, args ...string) (out, said string, err error) {
	path, err := c.lookup(tool)
	if err != nil {
		return "", "", err
	}
	if c.Patience > 0 {
		patience = c.Patience
	}
	limit, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stdout, stderr := asking.Output{Limit: maxOutput, Full: cancel}, asking.Output{Limit: maxOutput, Full: cancel}
	cmd := exec.CommandContext(limit, path, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &stdout, &stderr
	asking.Own(cmd)
	err = cmd.Run()
	out, said = stdout.String(), message(stderr.String())
	switch {
	case ctx.Err() != nil:
		return out, said, fmt.Errorf("%s: %w", tool, ctx.Err())
	case stdout.Over || stderr.Over:
		return out, said, &UnreachableError{tool, fmt.Sprintf("it said more than %d MiB", maxOutput>>20)}
	case limit.Err() != nil:
		return out, said, &UnreachableError{tool, fmt.Sprintf("no answer within %v", patience)}
	case err != nil && unreachable(said):
		return out, said, &UnreachableError{tool, said}
	case err != nil:
		return out, said, &toolError{tool, said, err}
	}
	return out, said, nil
}

// maxMessage bounds what a tool's complaint takes in an error.
const maxMessage = 500

// message is what a tool said on stderr, in one line and without the prefixes that each of its lines has.
func message(stderr string) string {
	var parts []string
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		if i := strings.LastIndexByte(line, '/'); i >= 0 && strings.Contains(line, ": unrecognized option") {
			line = line[i+1:]
		}
		for _, tool := range []string{"sbatch: ", "srun: ", "squeue: ", "scancel: ", "scontrol: ", "sacct: ", "error: ", "fatal: "} {
			line = strings.TrimPrefix(line, tool)
		}
		if line == "" || strings.HasPrefix(line, "Try \"") || slices.Contains(parts, line) {
			continue
		}
		parts = append(parts, line)
	}
	text := strings.Join(parts, "; ")
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "…"
	}
	return text
}

// contact are what tools say, in versions 18 to 24, when it is the controller or the way to it that fails.
var contact = []string{
	"unable to contact slurm controller", "socket timed out", "connection refused", "connection timed out", "no route to host",
	"slurm controller not responding", "unable to establish configuration source", "zero bytes were transmitted or received",
	"transport endpoint is not connected", "resource temporarily unavailable", "slurm temporarily unable to accept job",
	"slurmctld is not responding", "protocol authentication error", "munge", "could not establish a configuration source",
	"unable to connect to database", "communication connection failure", "retrying", "in standby mode",
}

func unreachable(said string) bool {
	said = strings.ToLower(said)
	return slices.ContainsFunc(contact, func(s string) bool { return strings.Contains(said, s) })
}

// rejected is err as a refusal, where it is one: the tool ran, answered and said no.
func rejected(err error) error {
	var t *toolError
	if errors.As(err, &t) && t.message != "" && t.err != nil {
		return &RejectedError{t.message}
	}
	return err
}
