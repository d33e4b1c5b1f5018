package e2e

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	script     = "../scripts/dev-cluster.sh"
	nodeCount  = 3
	userName   = "dev"
	userID     = 29777           // SLURM_DEV_UID
	upPatience = 3 * time.Minute // packages may have to be installed first
	// idlePatience is how long Slurm may take to be done with the jobs of the test before: what it cannot end on a node that was
	// hung it gives up after 30 s, and takes the node out of use.
	idlePatience = 90 * time.Second
	// doPatience bounds whatever is asked of the cluster: heal waits up to 25 s for Slurm to take a node back.
	doPatience = 90 * time.Second
)

// cluster is a development cluster that belongs to one test at a time.
type cluster struct {
	dir    string // SLURM_DEV_DIR
	net    string
	keep   bool // it was there before and stays
	script string
}

// pool holds the clusters of this test process; it is filled once, by the first test that needs one.
var pool struct {
	sync.Once
	all  []*cluster
	free chan *cluster
	skip string // why there is none
	err  error
}

// newCluster gives the test a cluster of its own, with all nodes healthy, and takes it back in that state.
func newCluster(t testing.TB) *cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("end-to-end on the development cluster: left out by -short")
	}
	pool.Do(fillPool)
	if pool.skip != "" {
		t.Skip("end-to-end on the development cluster: " + pool.skip)
	}
	if pool.err != nil {
		t.Fatal(pool.err)
	}
	var c *cluster
	select {
	case c = <-pool.free:
	case <-t.Context().Done():
		t.Fatal("no cluster became free")
	}
	t.Cleanup(func() { pool.free <- c })
	c.idle(t)
	return c
}

// idle waits until all nodes are free: Slurm places runs on the first two that are, and faults meet those.
func (c *cluster) idle(t testing.TB) {
	t.Helper()
	for end := time.Now().Add(idlePatience); ; time.Sleep(200 * time.Millisecond) {
		states := strings.Fields(c.root(t, "sinfo", "-h", "-N", "-p", "dev", "-o", "%T"))
		if len(states) == nodeCount && !slices.ContainsFunc(states, func(s string) bool { return s != "idle" }) {
			return
		}
		for i, s := range states { // Slurm takes a node out of use when a job could not begin there
			if strings.HasPrefix(s, "drain") || strings.HasPrefix(s, "down") {
				c.do(t, "heal", fmt.Sprintf("node%d", i+1))
			}
		}
		if time.Now().After(end) {
			t.Fatalf("the nodes are %v after %v", states, idlePatience)
		}
	}
}

func fillPool() {
	if pool.skip = whyNot(); pool.skip != "" {
		return
	}
	self, err := filepath.Abs(script)
	if err != nil {
		pool.err = err
		return
	}
	if dir := os.Getenv("BOOST_E2E_CLUSTER"); dir != "" {
		pool.all = []*cluster{{dir: dir, keep: true, script: self}}
	} else {
		n, err := strconv.Atoi(os.Getenv("BOOST_E2E_CLUSTERS"))
		if err != nil || n < 1 || n > 8 {
			n = 3
		}
		for i := range n {
			dir, err := os.MkdirTemp(cmp.Or(os.Getenv("BOOST_E2E_ROOT"), "/tmp"), "boost-e2e-") // short: sockets lie below it
			if err != nil {
				pool.err = err
				return
			}
			if err := os.Chmod(dir, 0o755); err != nil { // its user must reach its home
				pool.err = err
				return
			}
			pool.all = append(pool.all, &cluster{dir: dir, net: fmt.Sprintf("10.%d.%d", 64+os.Getpid()/256%64, (os.Getpid()+i)%256), script: self})
		}
	}
	pool.free = make(chan *cluster, len(pool.all))
	for _, c := range pool.all { // one after the other: the first may install packages
		if err := c.up(); err != nil {
			pool.err = err
			return
		}
		pool.free <- c
	}
}

// whyNot says why this machine has no cluster; empty: it can have one.
func whyNot() string {
	switch {
	case os.Getenv("BOOST_E2E") == "" && os.Getenv("BOOST_E2E_CLUSTER") == "":
		return "set BOOST_E2E=1 to bring one up"
	case os.Geteuid() != 0:
		return "bringing it up needs root"
	}
	if out, err := exec.Command("unshare", "--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "true").CombinedOutput(); err != nil {
		return fmt.Sprintf("no namespaces here: %v %s", err, bytes.TrimSpace(out))
	}
	for _, tool := range []string{"slurmctld", "slurmd", "munged", "sshd"} {
		if _, err := exec.LookPath(tool); err == nil {
			continue
		}
		if _, err := exec.LookPath("apt-get"); err != nil {
			return tool + " is missing and there is no apt-get to install it"
		}
		if os.Getenv("NO_INSTALL") != "" {
			return tool + " is missing and NO_INSTALL is set"
		}
	}
	return ""
}

func (c *cluster) up() error {
	ctx, cancel := context.WithTimeout(context.Background(), upPatience)
	defer cancel()
	if !c.keep {
		if out, err := c.command(ctx, "up", strconv.Itoa(nodeCount)).CombinedOutput(); err != nil {
			return fmt.Errorf("cluster up: %w\n%s", err, out)
		}
		if out, err := c.command(ctx, "ssh-up").CombinedOutput(); err != nil {
			return fmt.Errorf("cluster ssh-up: %w\n%s", err, out)
		}
	}
	return c.install()
}

// install puts the binary where every host and the user see it, under a name that no other cluster's processes have.
func (c *cluster) install() error {
	bin, err := builtBinary()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.bindir(), 0o755); err != nil {
		return err
	}
	from, err := os.Open(bin)
	if err != nil {
		return err
	}
	defer from.Close()
	tmp := c.binary() + ".new"
	to, err := os.OpenFile(tmp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err != nil {
		return err
	}
	return os.Rename(tmp, c.binary())
}

func (c *cluster) bindir() string { return filepath.Join(c.dir, "e2e") }
func (c *cluster) binary() string { return filepath.Join(c.bindir(), "boost-tui") }
func (c *cluster) home() string   { return filepath.Join(c.dir, "home", userName) }
func (c *cluster) small() string  { return filepath.Join(c.dir, "small") }

// command is a call of the cluster's script.
func (c *cluster) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.script, args...)
	cmd.Env = append(os.Environ(), "SLURM_DEV_DIR="+c.dir)
	if c.net != "" {
		cmd.Env = append(cmd.Env, "SLURM_DEV_NET="+c.net)
	}
	return cmd
}

// do asks the cluster for something: a fault, its end.
func (c *cluster) do(t testing.TB, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), doPatience) // also in cleanups, when the test's context is over
	defer cancel()
	cmd := c.command(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, &out, &errs)
	}
	return out.String()
}

// root runs a command of the administrator on the login host.
func (c *cluster) root(t testing.TB, argv ...string) string {
	t.Helper()
	return c.do(t, append([]string{"exec", "login"}, argv...)...)
}

// user runs a command as the user on a host.
func (c *cluster) user(t testing.TB, host string, argv ...string) string {
	t.Helper()
	return c.do(t, append([]string{"exec", "-u", host}, argv...)...)
}

// harm does something to a host and has heal it when the test ends.
func (c *cluster) harm(t testing.TB, fault, node string, args ...string) {
	t.Helper()
	t.Cleanup(func() { c.do(t, "heal", node) })
	c.do(t, append([]string{fault, node}, args...)...)
}

// hosts are all of them.
func (c *cluster) hosts() []string {
	all := []string{"login"}
	for i := range nodeCount {
		all = append(all, fmt.Sprintf("node%d", i+1))
	}
	return all
}

// TestMain takes the clusters down again.
func TestMain(m *testing.M) {
	code := m.Run()
	for _, c := range pool.all {
		if c.keep {
			continue
		}
		if out, err := c.command(context.Background(), "purge").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "e2e: take the cluster under %s down: %v\n%s", c.dir, err, out)
			code = max(code, 1)
		}
	}
	if built.made {
		_ = os.RemoveAll(filepath.Dir(built.path)) // a leftover in the temporary folder fails nobody
	}
	os.Exit(code)
}
