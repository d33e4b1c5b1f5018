package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"boost-tui/experiment"
	"boost-tui/runner/slurm"
)

// SlurmShare is the part of a run that the agent has which srun started as this process.
func SlurmShare() (Share, error) {
	a, ok := slurm.Inside(os.Getenv)
	if !ok || !a.InStep {
		return Share{}, errors.New("agent: --slurm is for the tasks of a step of srun's, and this process is none")
	}
	s := Share{Host: a.Task.Number, Hosts: a.Task.Of, Name: cmp.Or(a.Task.Name, here().Host)}
	if !s.several() {
		return Share{Name: s.Name}, nil
	}
	hosts, err := slurm.Expand(stepHosts(a))
	if err != nil {
		return Share{}, err
	}
	if len(hosts) != s.Hosts {
		return Share{}, fmt.Errorf("agent: the step has %d tasks on %d nodes, and there is to be one on each", s.Hosts, len(hosts))
	}
	s.Address, err = reachedAt(s.Host, hosts)
	return s, err
}

// stepHosts are the hosts of the step, in the order of their tasks.
func stepHosts(a slurm.Allocation) string {
	return cmp.Or(os.Getenv("SLURM_STEP_NODELIST"), a.Hosts)
}

// reachedAt is the address of this host, number n of those of a run, by which the system reaches the first one; that of the
// first host is the one by which it reaches the second.
func reachedAt(n int, hosts []string) (string, error) {
	other := hosts[0]
	if n == 0 {
		other = hosts[1]
	}
	// Nothing is sent: the system only picks the way, and with it the address.
	c, err := net.Dial("udp", net.JoinHostPort(other, "9"))
	if err != nil {
		return "", fmt.Errorf("find the address of this host on the way to %s: %w", clean(other, 80), err)
	}
	defer c.Close()
	at, ok := c.LocalAddr().(*net.UDPAddr)
	if !ok || at.IP.IsLoopback() {
		return "", fmt.Errorf("the way to host %s is none to another machine: say --interface", clean(other, 80))
	}
	return at.IP.String(), nil
}

// toldPatience is how long an agent that Slurm ends asks why: its time is short (KillWait).
const toldPatience = 2 * time.Second

// whoTold is a cause made more exact where it is only known that a signal came: Slurm may know who sent it, and why.
func whoTold(cause string) string {
	a, inside := slurm.Inside(os.Getenv)
	if !inside || cause != agentTold {
		return cause
	}
	ctx, cancel := context.WithTimeout(context.Background(), toldPatience)
	defer cancel()
	j, err := (&slurm.Client{}).Past(ctx, a.Job)
	if j = j.Ended(a.Restarts); err != nil || j.Vanished || !j.Over() && j.State != slurm.Requeued {
		return cause
	}
	return jobSays(j)
}

// CheckPlace says why runs cannot be started at a place, and what to do, before one is made.
func CheckPlace(w experiment.Where) error {
	_, err := placeOf(w)
	return err
}
