package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"boost-tui/experiment"
	"boost-tui/runner/slurm"
	"boost-tui/runner/userconfig"
)

// SlurmShare is the part of a run that the agent has which srun started as this process.
func SlurmShare() (Share, error) {
	a, ok := slurm.Inside(os.Getenv)
	if !ok || !a.InStep {
		return Share{}, errors.New("agent: --slurm is for the tasks of a step of srun's, and this process is none")
	}
	name := cmp.Or(a.Task.Name, here().Host)
	hosts, err := slurm.Expand(cmp.Or(os.Getenv("SLURM_STEP_NODELIST"), a.Hosts))
	if err != nil {
		return Share{}, err
	}
	s := Share{Host: a.Task.Number, Hosts: a.Task.Of, Name: name, Names: strings.Join(hosts, ",")}
	if len(hosts) != max(1, s.Hosts) {
		return Share{}, fmt.Errorf("agent: the step has %d tasks on %d nodes, and there is to be one on each", s.Hosts, len(hosts))
	}
	if s.several() && s.leads() {
		s.Peer = hosts[1]
	}
	if !s.several() {
		s = Share{Name: name}
	}
	return s, nil
}

// pickedHosts are the names of the hosts that a scheduler picked for a run; nil: nobody has written them down yet.
func pickedHosts(dir string) []string {
	hosts, err := Hosts(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, h := range hosts {
		names = append(names, h.Name)
	}
	return names
}

// slurmInside is the allocation that this process is in.
func slurmInside() (slurm.Allocation, bool) { return slurm.Inside(os.Getenv) }

// toldPatience is how long an agent that Slurm ends asks why: its time is short (KillWait).
const toldPatience = 2 * time.Second

// whoTold is how a run ended, made more exact where it is only known that a signal came: Slurm may know who sent it, and why.
func whoTold(state State, cause string, share Share) (State, string) {
	a, inside := slurm.Inside(os.Getenv)
	if !inside || cause != agentTold {
		return state, cause
	}
	ctx, cancel := context.WithTimeout(context.Background(), toldPatience)
	defer cancel()
	c := &slurm.Client{}
	j, err := c.Past(ctx, a.Job)
	if j = j.Ended(a.Restarts); err != nil || j.Vanished || !j.Over() && j.State != slurm.Requeued {
		return state, cause
	}
	if j.State == slurm.NodeFail || j.State == slurm.Failed { // nobody wanted the run to end
		state = Failed
	}
	if j.State != slurm.NodeFail || share.Names == "" {
		return state, jobSays(j)
	}
	if down, err := c.Down(ctx, strings.Split(share.Names, ",")); err == nil && len(down) > 0 { // else it is told without the name
		return state, clean(jobOver+j.ID+" lost "+strings.Join(down, ", ")+": Slurm does not reach it any more", maxLineRunes)
	}
	return state, jobSays(j)
}

// CheckPlace says why runs cannot be started at a place, and what to do, before one is made.
func CheckPlace(w experiment.Where) error {
	_, err := placeOf(w)
	return err
}

// Furnish fills in what the user has set for all runs on other machines and the experiment leaves as it is by itself.
func Furnish(w *experiment.Where) error {
	if w.Where == experiment.WhereLocal || w.Where == "" {
		return nil
	}
	c, err := userconfig.Load()
	if err != nil {
		return err
	}
	w.Interface = cmp.Or(w.Interface, c.Place.Interface)
	if usual := experiment.Default().Where.HeartbeatTimeout; w.HeartbeatTimeout == usual {
		w.HeartbeatTimeout = cmp.Or(c.Place.HeartbeatTimeout, usual)
	}
	return nil
}
