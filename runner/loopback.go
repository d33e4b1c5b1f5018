package runner

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
)

// EnvTestHosts makes this machine play so many hosts, each with an agent and an address of its own: what runs across
// hosts is tested so. It is no way to run anything faster.
const EnvTestHosts = "BOOST_TEST_HOSTS"

// loopback is this machine in the part of several.
type loopback struct{ hosts int }

// testHosts is the place that a test asks for; nil: none.
func testHosts() (Place, error) {
	text := os.Getenv(EnvTestHosts)
	if text == "" {
		return nil, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 2 || n > 99 {
		return nil, fmt.Errorf("%s=%s: from 2 to 99 hosts can be played", EnvTestHosts, clean(text, 20))
	}
	return loopback{n}, nil
}

// Start implements Place.
func (l loopback) Start(j Job) (Agents, error) {
	var all several
	for host := range l.hosts {
		s := Share{Host: host, Hosts: l.hosts, Address: fmt.Sprintf("127.0.0.%d", host+1)}
		s.Name = s.Address
		// The hosts share the cores of this machine.
		env := append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", max(1, runtime.NumCPU()/l.hosts)))
		a, err := startAgent(j, env, s.args()...)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("host %d: %w", host, err), all.Kill())
		}
		all = append(all, a)
	}
	return all, nil
}

// hostNames implements hosted.
func (l loopback) hostNames() []string {
	names := make([]string, l.hosts)
	for i := range names {
		names[i] = fmt.Sprintf("127.0.0.%d", i+1)
	}
	return names
}

// several are the agents of a run on several hosts.
type several []Agents

// Cancel implements Agents.
func (s several) Cancel(reason string) error {
	return s.each(func(a Agents) error { return a.Cancel(reason) })
}

// Kill implements Agents.
func (s several) Kill() error { return s.each(Agents.Kill) }

// Wait implements Agents.
func (s several) Wait() error { return s.each(Agents.Wait) }

func (s several) each(f func(Agents) error) error {
	var errs []error
	for _, a := range s {
		errs = append(errs, f(a))
	}
	return errors.Join(errs...)
}
