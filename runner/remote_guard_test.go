package runner

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"boost-tui/runner/protocol"
)

// fillUp leaves no byte free on the file system of a folder.
func fillUp(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
}

func guardSetup(dir string) remoteSetup {
	return remoteSetup{Schema: Schema, Run: "20260101-000000-a", Dir: dir, Hosts: 1, Name: "node1", World: 1, Lease: 15}
}

// TestNoRoomForTheRecordOfAHost: why an agent could not be started reaches the session though no file can tell it.
func TestNoRoomForTheRecordOfAHost(t *testing.T) {
	binary, err := Binary()
	if err != nil {
		t.Fatal(err)
	}
	for name, leased := range map[string]bool{"record": true, "lease": false} {
		t.Run(name, func(t *testing.T) {
			dir := small(t, 64, 0)
			s := &session{o: guardSetup(dir), binary: binary, folder: dir, me: here()}
			missing := leasePath(dir, 0)
			if leased {
				if err := s.renew(); err != nil {
					t.Fatal(err)
				}
				missing = hostPath(dir, 0)
			}
			fillUp(t, dir)
			if err := s.start([]byte("{}")); err != nil {
				t.Fatalf("the session ends: %v", err)
			}
			st := s.status()
			if !st.Stillborn || !st.Ended || !strings.Contains(st.Error, syscall.ENOSPC.Error()) || !strings.Contains(st.Error, missing) {
				t.Errorf("%+v", st)
			}
			if again, err := parseStatus(st.encode()); err != nil || again != st {
				t.Errorf("at home: %+v, %v", again, err)
			}
		})
	}
}

// TestRecordOfAHostOnAFullDisk: how an agent ended is written over the record that is there.
func TestRecordOfAHostOnAFullDisk(t *testing.T) {
	dir := small(t, 64, 0)
	g := &guard{o: guardOrder{remoteSetup: guardSetup(dir), Folder: dir}}
	if err := g.claim(); err != nil {
		t.Fatal(err)
	}
	fillUp(t, dir)
	for _, why := range []string{"it was the disk", "short"} {
		g.rec.Ended, g.rec.Error = true, why
		if err := g.save(); err != nil {
			t.Fatal(err)
		}
		if r, err := readHost(dir, 0); err != nil || !r.Ended || r.Error != why {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// TestWordOfAGuard: whoever starts a guard hears from it in any case.
func TestWordOfAGuard(t *testing.T) {
	var out bytes.Buffer
	if err := Guard(strings.NewReader("{"), &out); err == nil || guardWord(&out) == nil {
		t.Errorf("an order that cannot be read: %v, %q", err, &out)
	}
	if err := guardWord(strings.NewReader("")); err == nil {
		t.Error("one that was killed stands over an agent")
	}
	dir := t.TempDir()
	if err := protocol.WriteFile(hostPath(dir, 0), []byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	order, err := json.Marshal(guardOrder{remoteSetup: guardSetup(dir), Folder: dir})
	if err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := Guard(bytes.NewReader(order), &out); err == nil {
		t.Error("two guards of one agent")
	}
	if err := guardWord(&out); err != nil {
		t.Errorf("another one stands over it: %v", err)
	}
}

// TestStillbornHostIsTheCause: agents that were ended because another one never came are not why the run failed.
func TestStillbornHostIsTheCause(t *testing.T) {
	r := &sshRun{}
	for i, name := range []string{"node1", "node2"} {
		r.hosts = append(r.hosts, newSSHHost(r, i, name, 2))
	}
	r.hosts[0].stat = remoteStatus{Begun: true, Ended: true, Error: "signal: killed"}
	r.hosts[1].stat = remoteStatus{Begun: true, Ended: true, Error: "no room", Stillborn: true}
	if _, err := r.outcome(); err == nil || err.Error() != "host node2: no room" {
		t.Error(err)
	}
}

// TestNobodyToMeet: the first host's agent ended before others knew of it, and they are not left to wait.
func TestNobodyToMeet(t *testing.T) {
	r := &sshRun{job: conductJob{Job: Job{Dir: t.TempDir()}}}
	first := newSSHHost(r, 0, "node1", 2)
	r.hosts = []*sshHost{first, newSSHHost(r, 1, "node2", 2)}
	if r.unmet() {
		t.Error("nothing has happened")
	}
	first.stat = remoteStatus{Begun: true, Ended: true, Error: "exit status 1"}
	first.finish("", false)
	if !r.unmet() {
		t.Error("the others wait for it")
	}
	if err := protocol.WriteFile(filepath.Join(r.job.Dir, protocol.MeetFile), nil); err != nil {
		t.Fatal(err)
	}
	if r.unmet() {
		t.Error("the others have met it, and hear that it ended")
	}
}

// TestLastWordsOnAFullDisk: the log of an agent has room for why it ended.
func TestLastWordsOnAFullDisk(t *testing.T) {
	binary, err := Binary()
	if err != nil {
		t.Fatal(err)
	}
	dir := small(t, 64, 0)
	// The guard refuses the order, and says so in the log as well.
	if err := startGuard(binary, guardOrder{Folder: dir}); err == nil {
		t.Fatal("an order that makes no sense was taken")
	}
	fillUp(t, dir)
	f, err := os.OpenFile(filepath.Join(dir, protocol.AgentLogFile), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("the last words\n"); err != nil {
		t.Error(err)
	}
}
