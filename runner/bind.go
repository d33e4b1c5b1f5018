package runner

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"boost-tui/experiment"

	"golang.org/x/sys/unix"
)

// binding shares what a scheduler gave an agent among its ranks: the processors, where the agent is confined to them, and the
// cards. Elsewhere ranks go where the system puts them: without confinement two runs would pick the same processors.
type binding struct {
	cpus  []int // that the agent may use; nil: ranks are not bound
	cards []string
	cuda  bool // ranks compute on cards
}

// ownCards is the variable by which a rank knows that the cards it sees are for it alone (trainer/devices reads it).
const ownCards = "BOOST_OWN_CARDS"

// maxCPUs bounds the numbers of processors that are looked at, as the kernel's sets do.
const maxCPUs = 1024

// bindingOf finds out what there is to share.
func bindingOf(e experiment.Experiment, getenv func(string) string) binding {
	b := binding{cuda: e.Step.Device == experiment.DeviceCUDA}
	if b.cuda && getenv("CUDA_VISIBLE_DEVICES") != "" {
		b.cards = strings.Split(getenv("CUDA_VISIBLE_DEVICES"), ",")
	}
	given, err := strconv.Atoi(getenv("SLURM_CPUS_PER_TASK"))
	if err != nil {
		return b
	}
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil || set.Count() != given {
		return b
	}
	for cpu := range maxCPUs {
		if set.IsSet(cpu) {
			b.cpus = append(b.cpus, cpu)
		}
	}
	return b
}

// share is the part of a list that number i of n takes; nil where there are fewer than n.
func share[T any](list []T, i, n int) []T {
	if n < 1 || len(list) < n {
		return nil
	}
	return list[i*len(list)/n : (i+1)*len(list)/n]
}

// environ is the environment of rank i of n on this host.
func (b binding) environ(env []string, i, n int) []string {
	cards := share(b.cards, i, n)
	if cards == nil {
		return env
	}
	// The last of a name counts. The first says that the cards are the rank's own: the others see theirs.
	return append(env, ownCards+"=1", "CUDA_VISIBLE_DEVICES="+strings.Join(cards, ","))
}

// card is the one that rank i of n computes on, as CUDA_VISIBLE_DEVICES names cards; "": none.
func (b binding) card(i, n int) string {
	own := share(b.cards, i, n)
	switch {
	case !b.cuda:
		return ""
	case own != nil:
		return strings.TrimSpace(own[0])
	case len(b.cards) > 0: // ranks share cards
		return strings.TrimSpace(b.cards[i%len(b.cards)])
	}
	return strconv.Itoa(i)
}

// start starts rank i of n on this host, on its part of the processors. A child has those of the thread that makes it.
func (b binding) start(i, n int, start func() (*os.Process, error)) (*os.Process, error) {
	cpus := share(b.cpus, i, n)
	if cpus == nil {
		return start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var was, set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &was); err != nil {
		return nil, fmt.Errorf("processors of this process: %w", err)
	}
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("bind to processors %v: %w", cpus, err)
	}
	defer func() { _ = unix.SchedSetaffinity(0, &was) }() // it was allowed before
	return start()
}
