package main

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// What K does on the screen, cancel does: points first, then the whole sweep, whoever looks after it.
func TestSweepIsCancelled(t *testing.T) {
	p := newProgram(t)
	args := quickSweep("--axis", "seed=1..5", "--steps", endless)
	id := strings.TrimSpace(p.want(exitOK, append(args, "--detach")...).stdout)
	dir := p.runningRun()
	p.reaches(dir, 2)
	all := p.status(id).Points
	// A point that waits, and the one that runs: the next one begins.
	var v sweepView
	oneJSON(t, p.want(exitOK, "sweep", "cancel", id, all[4].Point, all[0].Point, "--json").stdout, &v)
	if v.Points[0].State != "cancelled" || v.Points[4].State != "skipped" || v.Points[0].Cause != "cancelled by its user" {
		t.Errorf("%+v", v.Points)
	}
	p.gone(dir)
	if r := p.run("sweep", "cancel", id, all[0].Point, all[4].Point); r.code != exitUsage || !strings.Contains(r.err, "is cancelled") {
		t.Errorf("cancelled twice: exit %d, %s", r.code, r.err)
	}
	next := p.runningRun()
	p.reaches(next, 2)
	// All of it.
	r := p.want(exitOK, "sweep", "cancel", id)
	if v := p.status(id); v.State != "finished" || v.Counts["cancelled"] != 2 || v.Counts["skipped"] != 3 || !strings.Contains(r.stdout, "cancelled") {
		t.Errorf("%s: %v\n%s", v.State, v.Counts, r.stdout)
	}
	p.gone(next)
	p.eventually(10*time.Second, "the end of its program", func() bool { return !p.status(id).Held })
	if r := p.run("sweep", "cancel", id); r.code != exitUsage || !strings.Contains(r.err, "nothing of it runs or waits") {
		t.Errorf("an ended sweep: exit %d, %s", r.code, r.err)
	}
	// What was ended can be queued again.
	p.want(exitOK, "sweep", "retry", id, all[0].Point)
	if v := p.status(id); v.State != "waiting" || v.Counts["queued"] != 1 {
		t.Errorf("%s: %v", v.State, v.Counts)
	}
	p.want(exitOK, "sweep", "cancel", id)
	if r := p.want(exitOK, "__complete", "sweep", "cancel", id, ""); !strings.Contains(r.stdout, all[0].Point) {
		t.Errorf("completion does not offer points:\n%s", r.stdout)
	}
}

// A finished point runs again only for who asks for just that, and its new run counts.
func TestSweepRetryAgain(t *testing.T) {
	p := newProgram(t)
	p.want(exitOK, quickSweep("--axis", "seed=1", "--steps", "2")...)
	v := p.status()
	point := p.status(v.ID).Points[0]
	if r := p.run("sweep", "retry", v.ID, point.Point); r.code == exitOK || !strings.Contains(r.err, "--again") {
		t.Errorf("a finished point: exit %d, %s", r.code, r.err)
	}
	if r := p.run("sweep", "retry", v.ID, "--again"); r.code != exitUsage {
		t.Errorf("no point named: exit %d, %s", r.code, r.err)
	}
	p.want(exitOK, "sweep", "retry", v.ID, point.Point, "--again")
	if v := p.status(v.ID); v.Counts["queued"] != 1 {
		t.Fatalf("%s: %v", v.State, v.Counts)
	}
	p.want(exitOK, "sweep", "resume", v.ID)
	if now := p.status(v.ID).Points[0]; p.status(v.ID).Counts["finished"] != 1 || now.Run == point.Run {
		t.Errorf("run %s counts, it was %s before", now.Run, point.Run)
	}
}

// A command in front tells how its sweep was ended elsewhere; a sweep whose program is dead can be ended as well.
func TestSweepInFrontIsCancelled(t *testing.T) {
	p := newProgram(t)
	args := quickSweep("--axis", "seed=1..3", "--steps", endless)
	cmd, said := p.started(args...)
	dir := p.runningRun()
	p.reaches(dir, 2)
	_ = cmd.Process.Signal(syscall.SIGKILL)
	_ = cmd.Wait()
	v := p.status()
	p.want(exitOK, "sweep", "cancel", v.ID)
	p.gone(dir)
	if v := p.status(); v.State != "finished" || v.Held || v.Counts["cancelled"] != 1 || v.Counts["skipped"] != 2 {
		t.Errorf("%s, held %v: %v\n%s", v.State, v.Held, v.Counts, said)
	}
	cmd, said = p.started(quickSweep("--axis", "seed=1..2", "--steps", endless, "--layers", "2")...)
	p.eventually(20*time.Second, "the second sweep", func() bool { return p.status().ID != v.ID })
	dir = p.runningRun()
	p.reaches(dir, 2)
	p.want(exitOK, "sweep", "cancel", p.status().ID)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(said.String(), "sweep retry") {
		t.Errorf("exit %d\n%s", code, said)
	}
	p.gone(dir)
}
