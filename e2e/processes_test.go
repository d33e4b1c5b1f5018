package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is one of ours on a host of a cluster, as the machine beneath sees it: its namespaces hide nothing from root.
type process struct {
	pid   int
	host  string
	argv  []string
	state byte // of /proc/PID/stat: T is stopped
}

func (p process) role() string {
	if len(p.argv) > 1 {
		return p.argv[1]
	}
	return ""
}

func (p process) String() string {
	return fmt.Sprintf("%s %d (%c): %s", p.host, p.pid, p.state, strings.Join(p.argv, " "))
}

// processes finds every process of the cluster's user on its hosts: our binary, and what runs for it, as ssh clients, srun
// and shells. An sshd's own are not ours: that of a connection that was cut waits for TCP to give up.
func (c *cluster) processes(t testing.TB) []process {
	t.Helper()
	nets := c.networks()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var found []process
	for _, dir := range dirs {
		var st syscall.Stat_t
		if err := syscall.Stat(dir, &st); err != nil || st.Uid != userID {
			continue
		}
		line, err := os.ReadFile(filepath.Join(dir, "cmdline")) // empty where it has ended and waits to be reaped
		if err != nil || len(line) == 0 || bytes.HasPrefix(line, []byte("sshd:")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() {
			continue
		}
		net, err := os.Readlink(filepath.Join(dir, "ns/net"))
		host, ours := nets[net]
		if err != nil || !ours { // of this test, outside the cluster
			continue
		}
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue
		}
		state := byte('?')
		if _, rest, ok := bytes.Cut(stat, []byte(") ")); ok && len(rest) > 0 {
			state = rest[0]
		}
		if state == 'Z' {
			continue
		}
		found = append(found, process{pid, host, strings.Split(strings.TrimRight(string(line), "\x00"), "\x00"), state})
	}
	return found
}

// networks tells hosts by their network namespaces.
func (c *cluster) networks() map[string]string {
	nets := map[string]string{}
	for _, h := range c.hosts() {
		pid, err := os.ReadFile(filepath.Join(c.dir, "ns", h))
		if err != nil {
			continue // it crashed
		}
		if net, err := os.Readlink(filepath.Join("/proc", strings.TrimSpace(string(pid)), "ns/net")); err == nil {
			nets[net] = h
		}
	}
	return nets
}

// find gives the processes with a role on a host (empty: any) whose command line ends in last.
func (c *cluster) find(t testing.TB, host, role, last string) []process {
	t.Helper()
	return slices.DeleteFunc(c.processes(t), func(p process) bool {
		return p.role() != role || host != "" && p.host != host || !strings.HasSuffix(strings.Join(p.argv, " "), last) ||
			!strings.HasPrefix(filepath.Base(p.argv[0]), "boost-tui")
	})
}

// kill sends SIGKILL to the one process with the role on the host.
func (c *cluster) kill(t testing.TB, host, role, last string) {
	t.Helper()
	found := c.find(t, host, role, last)
	if len(found) == 0 {
		t.Fatalf("no %s on %q among %v", role, host, c.processes(t))
	}
	if err := syscall.Kill(found[0].pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill %v: %v", found[0], err)
	}
}

// signalNamed sends a signal to the processes on a host whose program has the name and whose command line says what.
func (c *cluster) signalNamed(t testing.TB, sig syscall.Signal, host, name, what string) {
	t.Helper()
	n := 0
	for _, p := range c.processes(t) {
		if p.host == host && filepath.Base(p.argv[0]) == name && strings.Contains(strings.Join(p.argv, " "), what) {
			if err := syscall.Kill(p.pid, sig); err == nil {
				n++
			}
		}
	}
	if n == 0 {
		t.Fatalf("no %s with %q on %s among %v", name, what, host, c.processes(t))
	}
}

// killNamed sends SIGKILL.
func (c *cluster) killNamed(t testing.TB, host, name, what string) {
	t.Helper()
	c.signalNamed(t, syscall.SIGKILL, host, name, what)
}

// gone fails when a process of ours is left on any of the hosts (none: on all) after the time.
func (c *cluster) gone(t testing.TB, within time.Duration, hosts ...string) time.Duration {
	t.Helper()
	began := time.Now()
	for {
		left := c.processes(t)
		if len(hosts) > 0 {
			left = slices.DeleteFunc(left, func(p process) bool { return !slices.Contains(hosts, p.host) })
		}
		if len(left) == 0 {
			return time.Since(began)
		}
		if time.Since(began) > within {
			for _, p := range left {
				t.Errorf("after %v there is still %v", within, p)
				_ = syscall.Kill(p.pid, syscall.SIGKILL) // ours: it is the cluster's user's
			}
			return within
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// fenced fails when an agent or a rank is left on a host that is cut off.
func (c *cluster) fenced(t testing.TB, host string) {
	t.Helper()
	for _, role := range []string{"agent", "rank"} {
		for _, p := range c.find(t, host, role, "") {
			t.Errorf("%s is cut off and has still %v", host, p)
		}
	}
}
