package runner

import (
	"slices"
	"strings"
	"syscall"

	"boost-tui/experiment"
	"boost-tui/runner/protocol"
)

// Fault says whose doing it is that a run did not do its work. Whoever decides whether the same run is worth
// another try goes by it: only what the machine caused can be different the next time.
type Fault string

// Faults. Where nobody can tell, a run that died by itself counts as the configuration's fault and one that
// vanished as the machine's.
const (
	NoFault            Fault = ""              // it did its work, or still may
	MachineFault       Fault = "machine"       // lost, killed from outside, its agent died, the disk was full
	ConfigurationFault Fault = "configuration" // loss not finite, bad data, out of memory for its own needs, a crash
	UserFault          Fault = "user"          // somebody ended or deleted it
)

const (
	// outOfMemory stands in the cause of a rank that the kernel ended.
	outOfMemory = "the kernel killed for lack of memory"
	// agentTold is the reason of an agent that got a signal and no request with it: a machine that shuts down
	// does that, people use `cancel`.
	agentTold = "its agent was told to end (SIGTERM)"
	// ranksTold is said of ranks that stopped in order, while their agent could not say why.
	ranksTold = "its ranks were told to stop"
	// leftWithoutError is said of a rank that ended well and too early.
	leftWithoutError = "left without an error"
)

// crashes are the signals by which a program ends itself. All others come from outside; SIGBUS is the
// system's, which could not back memory or a file that it had promised.
var crashes = []string{"SIGSEGV", "SIGILL", "SIGFPE", "SIGABRT", "SIGTRAP", "SIGSYS"}

// machineErrors are what the system answers when it is the one in trouble.
var machineErrors = []error{
	syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.ESTALE, syscall.EROFS, syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN,
}

// faultOf judges a run that is over by what was written down about it.
func faultOf(r Run, state State, cause string, exits []protocol.ExitRecord) Fault {
	switch state {
	case Finished, Pending, Running:
		return NoFault
	case Cancelled:
		if strings.HasPrefix(cause, launcherGone) || ofJob(cause) || strings.HasPrefix(cause, agentTold) || strings.HasSuffix(cause, ranksTold) {
			return MachineFault
		}
		return UserFault
	case Failed:
		if nobodysWish(cause) {
			return MachineFault
		}
		if mistaken(cause) {
			return ConfigurationFault
		}
		if f := faultOfJob(state, cause); f != NoFault {
			return f
		}
		return faultOfRanks(r, cause, exits)
	}
	return MachineFault
}

// faultOfRanks judges a failure by the rank that it began with. Where no rank says that it was the first, the first
// one died without a word, or all answered to their agent's end.
func faultOfRanks(r Run, cause string, exits []protocol.ExitRecord) Fault {
	early := func(e protocol.ExitRecord) bool { return e.OK() && strings.HasPrefix(e.Cause, leftWithoutError) }
	switch {
	case slices.ContainsFunc(exits, early):
		return ConfigurationFault
	case len(exits) == 0 || allSecondary(exits) || ofMachine(cause):
		return MachineFault
	}
	return faultOfRank(r, primary(exits))
}

func faultOfRank(r Run, e protocol.ExitRecord) Fault {
	switch {
	case strings.Contains(e.Cause, outOfMemory):
		if r.modest() {
			return MachineFault
		}
		return ConfigurationFault
	case e.Signal != "" && !slices.Contains(crashes, e.Signal):
		return MachineFault
	case e.Code == protocol.CodeCancelled || e.Code == protocol.CodeSecondary:
		return MachineFault
	case ofMachine(e.Cause):
		return MachineFault
	}
	return ConfigurationFault
}

func ofMachine(cause string) bool {
	says := func(err error) bool { return strings.Contains(cause, err.Error()) }
	return strings.Contains(cause, fullDisk) || strings.HasPrefix(cause, "host") && strings.Contains(cause, hostLost) || slices.ContainsFunc(machineErrors, says)
}

// modest reports that the ranks were to need at most half of the machine's memory: when it runs out all the
// same, others have taken it. Of runs on GPUs the memory of the GPUs was recorded, which says nothing of the machine's.
func (r Run) modest() bool {
	p := r.Predicted
	return p != nil && p.MemBytes > 0 && p.MachineBytes > 0 && r.Experiment.Step.Device != experiment.DeviceCUDA && p.ranksBytes(r.World()) <= p.MachineBytes/2
}

// DiskFull reports that the run ended because the disk that holds the runs was full: the next one would, too.
func (in *Info) DiskFull() bool {
	says := func(err error) bool { return strings.Contains(in.Cause, err.Error()) }
	return in.Fault == MachineFault && (strings.Contains(in.Cause, fullDisk) || says(syscall.ENOSPC) || says(syscall.EDQUOT))
}

// known makes NoFault of what this version does not know.
func (f Fault) known() Fault {
	switch f {
	case MachineFault, ConfigurationFault, UserFault:
		return f
	}
	return NoFault
}
