package runner

import (
	"fmt"

	"boost-tui/experiment"

	"golang.org/x/sys/unix"
)

// What a run needs of the limits that processes inherit from their shell.
const (
	filesOfRank  = 48       // open files of a rank: records, rendezvous, shared memory, libraries
	filesPerRank = 4        // that the agent holds for each of its ranks
	leastFile    = 16 << 20 // bytes of one file: the records of a long run, and small memory that ranks share
)

// CheckLimits says which limit of this process (ulimit) is too low for a run of so many ranks on this machine, which
// share so many bytes of memory (0: unknown), and what to do. Agents and ranks inherit the limits.
func CheckLimits(ranks int, sharedBytes int64) error {
	var errs []error
	ranks = max(1, ranks)
	var l unix.Rlimit
	check := func(limit uint64, flag, name string, need uint64) {
		if limit != unix.RLIM_INFINITY && limit < need {
			errs = append(errs, fmt.Errorf("the limit of %s is %d here and a run of %d ranks needs %d: raise it with ulimit -%s", name, limit, ranks, need, flag))
		}
	}
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) == nil { // the Go runtime raises the soft one by itself
		check(l.Max, "n", "open files", uint64(filesOfRank+filesPerRank*ranks))
	}
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &l) == nil {
		check(l.Cur, "f", "the size of files and shared memory in bytes", uint64(max(leastFile, sharedBytes)))
	}
	return join(errs...)
}

// sharedBytes is what ranks of one machine share, at most: GPUs have memory of their own.
func (p *Predicted) sharedBytes(e experiment.Experiment) int64 {
	if e.Step.Device == experiment.DeviceCUDA {
		return 0
	}
	return p.ranksBytes(e.World())
}

// ranksBytes is the predicted memory of all ranks, 0 where nothing was predicted.
func (p *Predicted) ranksBytes(ranks int) int64 {
	if p == nil {
		return 0
	}
	return p.MemBytes * int64(ranks)
}
