package runner

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

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
