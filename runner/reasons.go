package runner

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// A run also ends for reasons that are nobody's wish: whoever stood over it was killed, or cannot be heard. Such a run failed, by
// the machine's fault, and the record names who was lost. That the program in front was killed is another matter: who kills it
// wants the run to end.

const (
	// launcherGone is what the end of a lifeline without a word means, where the program in front holds it.
	launcherGone = "boost-tui run, which the run belonged to, was killed"
	// conductGone is the same of a conductor; of a detached run nothing ends with it. Only the machine that it was on can say so:
	// elsewhere it is not heard any more, and no more than that is known. conductEnded begins it.
	conductEnded = "boost-tui conduct, which stood over the run, "
	conductGone  = conductEnded + "was killed"
	// guardGone begins the same of who starts the agent of a host that ssh leads to.
	guardGone = "boost-tui remote, which stood over the agent of host "
	// unheard stands in the reason of a host that does not hear its conductor any more: either may be cut off.
	unheard = " heard nothing of boost-tui conduct, which stands over the run, for "
	// frontUnheard begins the reason of a job that misses the program in front, and the one that stood over the run beside it.
	frontUnheard = "nothing was heard of boost-tui run, which the run belongs to, for "
)

// envLifeline tells an agent who holds its lifeline; empty: the program in front.
const envLifeline = "BOOST_LIFELINE"

// Who may hold it.
const (
	heldByConduct = "conduct"
	heldByGuard   = "remote"
)

// lifelineEnded is the reason for which a run ends whose lifeline ended without a word. host is what records call this one.
func lifelineEnded(host string) string {
	switch os.Getenv(envLifeline) {
	case heldByConduct:
		return conductGone
	case heldByGuard:
		return guardGone + clean(host, 64) + ", was killed"
	}
	return launcherGone
}

// conductUnheard is the reason of a host that has not heard its conductor for so long.
func conductUnheard(host string, silence time.Duration) string {
	return fmt.Sprintf("host %s%s%d s: it was killed or cut off", clean(host, 64), unheard, int(silence.Seconds()))
}

// conductEndedBy is why a run in front ends whose conductor has ended without having ended the run; err is how.
func conductEndedBy(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return fmt.Sprintf("%sended with exit code %d", conductEnded, exit.ExitCode())
	}
	return conductGone
}

// nobodysWish reports that a run which ends for the reason failed.
func nobodysWish(reason string) bool {
	return strings.HasPrefix(reason, "host ") && strings.Contains(reason, hostLost) || strings.HasPrefix(reason, conductEnded) || strings.HasPrefix(reason, guardGone) || strings.HasPrefix(reason, frontUnheard) ||
		strings.HasPrefix(reason, "host ") && strings.Contains(reason, unheard)
}

// stateFor is how a run ends that somebody, or something, ended for the reason.
func stateFor(reason string) State {
	if nobodysWish(reason) {
		return Failed
	}
	return Cancelled
}
