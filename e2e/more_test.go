package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A detached run is pending with Slurm's reason in words while it waits, and every host sees the same of it.
func TestPendingRunSaysWhy(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	blocker := strings.TrimSpace(p.user(t, "login", "sbatch", "--parsable", "-N", "3", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 300"))
	p.eventually(10*time.Second, "the job before it", func() bool {
		return strings.TrimSpace(p.user(t, "login", "squeue", "-h", "-t", "R", "-o", "%A")) == blocker
	})
	var v said
	p.json(p.on("login", append(append([]string{"run", "--detach", "--json"}, places["slurm"]...), acceptance...)...), &v)
	var here said
	p.eventually(15*time.Second, "a reason", func() bool {
		here = p.show("login", v.ID)
		return here.State == "pending" && regexp.MustCompile(`(?i)resources|nodes|priority|slurm`).MatchString(here.Cause)
	})
	there := p.show("node3", v.ID)
	t.Logf("login: %s: %s; node3: %s: %s", here.State, here.Cause, there.State, there.Cause)
	if there.State != "pending" || there.Cause == "" {
		t.Errorf("node3 sees it %s: %s", there.State, there.Cause)
	}
	p.user(t, "login", "scancel", blocker)
	p.eventually(40*time.Second, "the end of the run", func() bool { return p.show("node3", v.ID).State == "finished" })
	p.gone(t, goneWithin)
}

// A job that vanishes while it waits is found out at the next look, on whatever host.
func TestVanishedJobIsFoundOut(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	blocker := strings.TrimSpace(p.user(t, "login", "sbatch", "--parsable", "-N", "3", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 300"))
	var v said
	p.json(p.on("login", append(append([]string{"run", "--detach", "--json"}, places["slurm"]...), acceptance...)...), &v)
	p.user(t, "login", "scancel", "--state=PENDING", "-u", userName)
	p.eventually(15*time.Second, "the end of the run", func() bool {
		got := p.show("node3", v.ID)
		return got.State == "cancelled" && got.Cause != ""
	})
	t.Log(p.show("login", v.ID).Cause)
	p.user(t, "login", "scancel", blocker)
	p.gone(t, goneWithin)
}

// Inside an allocation the run takes that one and asks for no other.
func TestRunInsideAnAllocation(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	argv := append([]string{"exec", "-u", "login", "salloc", "-N", "2", "--exclusive", "env"}, p.env...)
	argv = append(append(argv, p.binary(), "run", "--json", "--where", "slurm", "--nodes", "2"), acceptance...)
	cmd := p.command(t.Context(), argv...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, &errs)
	}
	var v said
	p.json(result{out: string(out), errs: errs.String()}, &v)
	if v.State != "finished" || strings.Count(errs.String(), "Granted job allocation") != 1 {
		t.Errorf("%s: %s\n%s", v.State, v.Cause, &errs)
	}
	var of struct{ Kind string }
	data, err := os.ReadFile(filepath.Join(v.Dir, "job.json"))
	if err == nil {
		err = json.Unmarshal(data, &of)
	}
	if err != nil || of.Kind != "slurm-allocation" {
		t.Errorf("job.json: %v, %s", err, data)
	}
	p.gone(t, goneWithin)
}

// A run with checkpoints goes on, on other nodes, when a node is lost and its user asked for that.
func TestRestartAfterALostNode(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"slurm", "ssh"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t)
			args := append(append([]string{"run", "--json"}, places[where]...), endless...)
			j := p.start("login", append(args, "--set", "max-restarts=1", "--set", "checkpoint-every=20", "--stop-after", "400")...)
			dir := p.onlyRun()
			p.reaches(dir, 45)
			if where == "ssh" { // the same hosts again: the node must be back
				p.kill(t, "node2", "agent", "")
			} else {
				p.harm(t, "crash", "node2")
			}
			r := j.wait(90 * time.Second)
			var v said
			p.json(r, &v)
			if r.code != 0 || v.State != "finished" || v.Dir == dir {
				t.Fatalf("exit %d, %s in %s: %s\n%s", r.code, v.State, v.Dir, v.Cause, r.errs)
			}
			old := p.show("node3", filepath.Base(dir))
			var resumed struct {
				Restart *struct {
					Of     string `json:"of"`
					Number int    `json:"number"`
				} `json:"restart"`
				Resumed *struct {
					Run  string `json:"run"`
					Step int    `json:"step"`
				} `json:"resumed"`
			}
			data, err := os.ReadFile(filepath.Join(v.Dir, "run.json"))
			if err == nil {
				err = json.Unmarshal(data, &resumed)
			}
			if err != nil || resumed.Restart == nil || resumed.Restart.Of != filepath.Base(dir) || resumed.Resumed == nil || resumed.Resumed.Step < 20 {
				t.Errorf("%v, %+v", err, resumed)
			}
			if old.State != "failed" || !strings.Contains(old.Cause, "node2") {
				t.Errorf("the first run is %s: %s", old.State, old.Cause)
			}
			p.gone(t, goneWithin, "login", "node1", "node3")
		})
	}
}

// A slow network makes a run slow and changes nothing else; meanwhile somebody reads on another login node.
func TestSlowNetworkAndAReaderElsewhere(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.harm(t, "slow", "node2", "20mbit", "5ms")
	for name, where := range places {
		j := p.start("login", append(append([]string{"run", "--json"}, where...), "--size", "tiny", "--layers", "1", "--seq", "32", "--micro-batch", "2", "--tp", "2", "--steps", "30")...)
		for {
			select {
			case <-j.ended:
			default:
				var all []said
				p.json(p.on("node3", "runs", "--json"), &all)
				for _, v := range all {
					if v.State == "failed" || v.State == "lost" {
						t.Errorf("%s: node3 sees %s as %s: %s", name, v.ID, v.State, v.Cause)
					}
				}
				continue
			}
			break
		}
		var v said
		if r := j.wait(time.Second); r.code != 0 {
			t.Errorf("%s: exit %d\n%s%s", name, r.code, r.out, r.errs)
		} else {
			p.json(r, &v)
			p.recordHolds(v.Dir, 2)
		}
		p.gone(t, goneWithin)
	}
}

// Hosts whose clocks are five minutes apart agree about what lives, and on one timeline.
func TestClocksApart(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	for host, off := range map[string]string{"node1": "-5m", "node2": "5m"} {
		p.do(t, "clock", host, off)
		t.Cleanup(func() { p.do(t, "clock", host, "off") })
	}
	for name, where := range places {
		j := p.start("login", append(append([]string{"run", "--json"}, where...), append(endless, "--stop-after", "150")...)...)
		var id string
		p.eventually(20*time.Second, "the run in the store", func() bool {
			for _, d := range p.allRuns() {
				if stepOf(d, 0) > 0 && stepOf(d, 0) < 150 {
					id = filepath.Base(d)
				}
			}
			return id != ""
		})
		for _, host := range p.hosts() {
			if v := p.show(host, id); v.State != "running" && v.State != "finished" {
				t.Errorf("%s: %s sees it %s: %s", name, host, v.State, v.Cause)
			}
		}
		r := j.wait(60 * time.Second)
		var v said
		p.json(r, &v)
		if r.code != 0 || v.State != "finished" {
			t.Errorf("%s: exit %d, %s: %s\n%s", name, r.code, v.State, v.Cause, r.errs)
		}
		for _, host := range p.hosts() {
			p.timesHold(host, id)
		}
		p.gone(t, goneWithin)
	}
}

// timesHold checks that the times of a run that is over can be, as a host sees them.
func (p *program) timesHold(host, id string) {
	p.t.Helper()
	var v struct {
		Created, Ended time.Time
		Took           *float64 `json:"took_s"`
	}
	p.json(p.on(host, "show", id, "--json"), &v)
	if old := time.Since(v.Created); v.Took == nil || v.Ended.Before(v.Created) || old < 0 || *v.Took <= 0 || *v.Took > old.Seconds() {
		p.t.Errorf("%s sees %s created %v, ended %v, took %v seconds", host, id, v.Created, v.Ended, v.Took)
	}
}

func (p *program) allRuns() []string {
	found, _ := filepath.Glob(filepath.Join(p.runs, "*", "run.json"))
	for i := range found {
		found[i] = filepath.Dir(found[i])
	}
	return found
}

// What people call things reaches no shell, on this host or the next.
func TestHostileWordsAreRefusedOrHarmless(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	marker := filepath.Join(p.home(), "pwned")
	words := []string{`$(touch ` + marker + `)`, "`touch " + marker + "`", `'; touch ` + marker + `; '`, "a\ntouch " + marker, "#SBATCH\n#SBATCH --comment=x", `-oProxyCommand=touch ` + marker,
		"\x1b]0;x\x07", strings.Repeat("x", 100000)}
	quick := []string{"--size", "tiny", "--layers", "1", "--seq", "32", "--micro-batch", "2", "--tp", "2", "--steps", "3"}
	try := func(args ...string) {
		t.Helper()
		r := p.on("login", append(append([]string{"run", "--json"}, args...), quick...)...)
		if strings.Contains(r.errs, "\x1b]0") || strings.Contains(r.out, "\x1b]0") {
			t.Errorf("%.60q: an escape sequence came out", args)
		}
		if r.code != 0 && strings.TrimSpace(r.errs) == "" {
			t.Errorf("%.60q was refused without a word", args)
		}
		if _, err := os.Stat(marker); err == nil {
			t.Fatalf("%.80q ran a command", args)
		}
	}
	all := strings.Join(words[:5], " ")
	for _, where := range places {
		try(append([]string{"--name", all, "--tags", strings.ReplaceAll(all, ",", " ")}, where...)...)
	}
	for _, evil := range words {
		try("--where", "ssh", "--nodes", "2", "--hosts", evil+",node2")
		for _, key := range []string{"partition", "constraint", "time", "setup", "qos"} {
			try("--where", "slurm", "--nodes", "2", "--set", key+"="+evil)
		}
	}
	try("--where", "slurm", "--nodes", "2", "--set", "account="+words[0])
	p.gone(t, goneWithin)
}

// The UI on login shows a run on two nodes live; closed, and opened on another host, it shows the same.
func TestScreensOnTwoHosts(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is missing")
	}
	p := newProgram(t)
	var v said
	p.json(p.on("login", append(append([]string{"run", "--detach", "--json", "--name", "two-nodes"}, places["slurm"]...), endless...)...), &v)
	p.eventually(20*time.Second, "steps", func() bool { return stepOf(filepath.Join(p.runs, v.ID), 0) > 5 })
	for _, host := range []string{"login", "node3"} {
		socket := filepath.Join(p.home(), "tmux-"+host)
		argv := append([]string{"tmux", "-S", socket, "-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "36", "env"}, p.env...)
		p.user(t, host, append(argv, p.binary())...)
		see := func(want string) {
			t.Helper()
			var screen string
			for end := time.Now().Add(15 * time.Second); !strings.Contains(screen, want); time.Sleep(200 * time.Millisecond) {
				screen = p.user(t, host, "tmux", "-S", socket, "capture-pane", "-p")
				if time.Now().After(end) {
					t.Fatalf("%s does not show %q:\n%s", host, want, screen)
				}
			}
		}
		see("1 Launch")
		p.user(t, host, "tmux", "-S", socket, "send-keys", "5")
		see("two-nodes")
		p.user(t, host, "tmux", "-S", socket, "send-keys", "Enter")
		see("node1")
		see("node2")
		p.user(t, host, "tmux", "-S", socket, "kill-server")
	}
	p.on("node3", "cancel", v.ID)
	p.eventually(20*time.Second, "the end of the run", func() bool { return p.show("login", v.ID).State == "cancelled" })
	p.gone(t, goneWithin)
}
