package runner

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
	"unicode"

	"boost-tui/profiler/compare"
	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
	"boost-tui/runner/ssh"
)

// foreign are the files of a run's folder that others may have written, in an order that corpora depend on.
var foreign = []string{
	protocol.RunFile, protocol.ResultFile, protocol.AgentFile, protocol.NotesFile, protocol.HeartbeatFile, protocol.WaitingFile, protocol.CancelFile,
	protocol.MeetFile, protocol.JobFile, protocol.HostsFile, protocol.PreflightFile, "part-1.json", "exit/r00000.json", "events.jsonl", "rollup.bin",
	"steps/r00000.jsonl", "health/hx.jsonl", "timeline/r00000.btl", "log/r00000.log", "ckpt/step-00000001/manifest.json",
}

// Whatever one file of a run's folder holds, looking at the run ends, with a state that there is and words that a terminal
// takes without harm, and costs no file.
func FuzzRunFolder(f *testing.F) {
	for i := range foreign {
		for _, text := range []string{"", "{}", "[]", "null", `{"schema":1}`, `{"schema":99}`, `{"schema":1,"state":"failed","cause":"\u001b[2J"}`, "{\"schema\":1,\"pid\":1,\"host\":\"\\u001b\"}", "\x00\xff\x1b[2J\n"} {
			f.Add(i, []byte(text))
		}
	}
	s := NewStore(f.TempDir())
	r, dir, err := s.Create(testExperiment("ok", 2), CreateOptions{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, which int, data []byte) {
		if which < 0 || len(data) > maxFileBytes {
			return
		}
		name := foreign[which%len(foreign)]
		path := filepath.Join(dir, name)
		before, wasThere := os.ReadFile(path)
		if err := os.MkdirAll(filepath.Dir(path), protocol.DirMode); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, protocol.FileMode); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if wasThere != nil {
				os.Remove(path)
				return
			}
			os.WriteFile(path, before, protocol.FileMode)
		}()
		in := readInfo(dir, here(), time.Now())
		if !slices.Contains([]State{Pending, Running, Finished, Failed, Cancelled, Lost, Unreadable, ""}, in.State) {
			t.Errorf("%s: state %q", name, in.State)
		}
		if in.State == "" && in.Err == nil {
			t.Errorf("%s: neither a state nor an error", name)
		}
		for _, r := range in.Cause {
			if unicode.IsControl(r) {
				t.Errorf("%s: cause %q", name, in.Cause)
				break
			}
		}
		_, _ = Hosts(dir)
		_, _ = protocol.ReadPreflight(dir)
		_, _ = readPart(dir, 1)
		_, _ = readMeeting(dir)
		_, _ = record.LastRollup(dir, 3)
		_, _ = compare.Summarize(dir)
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s is gone: %v", name, err)
		}
	})
	_ = r
}

// Parsers of what other processes and users say: nothing ends the program.
func FuzzParsers(f *testing.F) {
	for _, text := range []string{`{"schema":1,"state":"lost","ranks":[{"rank":-1}]}`, `{"schema":1,"kind":"slurm","id":"7"}`, `{"schema":1,"tags":["a"],"note":"x"}`,
		`{"schema":1,"hosts":[{"name":"a","ranks":1}]}`, "1 (a b) S 1 2 3 4", ""} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := ParseResult(data); err == nil && !r.State.Over() {
			t.Errorf("a result that is not over: %+v", r)
		}
		if n, err := parseNotes(data); err == nil && n.Schema > Schema {
			t.Errorf("%+v", n)
		}
		if j, err := parseJob(data); err == nil && j.Ref.Check() != nil {
			t.Errorf("%+v", j)
		}
		_, _ = parseHosts(data)
		_, _ = parseStat(data)
		_, _ = parseSetup(data)
		_, _ = parseHost(data)
		_, _ = parseStatus(data)
	})
}

// What ssh.json names are hosts, whoever wrote it, and conduct.json a process.
func FuzzSSHFile(f *testing.F) {
	for _, text := range []string{`{"schema":1,"hosts":["node1","me@node2"],"scattered":true,"left":["node1"]}`, `{"schema":1,"hosts":["-oProxyCommand=x"]}`,
		`{"schema":1,"hosts":["a,b"]}`, `{"schema":1,"hosts":["a","a"]}`, `{"schema":2,"hosts":["a"]}`, `{}`, ""} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseSSH(data)
		if err != nil {
			return
		}
		for _, host := range slices.Concat(r.Hosts, r.Left) {
			if ssh.CheckHost(host) != nil {
				t.Errorf("host %q", host)
			}
		}
		dir := t.TempDir()
		if err := r.write(dir); err != nil {
			t.Fatal(err)
		}
		if again, err := readSSH(dir); err != nil || !slices.Equal(again.Hosts, r.Hosts) || again.Scattered != r.Scattered {
			t.Errorf("%+v, %v; was %+v", again, err, r)
		}
	})
}

func FuzzConductFile(f *testing.F) {
	for _, text := range []string{`{"schema":1,"pid":7,"start_ticks":9,"host":"a","boot":"b","pid_ns":"c","started":"2026-01-02T03:04:05Z"}`,
		`{"pid":-1}`, `{"pid":0}`, `{"pid":1,"host":"` + here().Host + `"}`, "{", ""} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parseProcess(data, protocol.ConductFile)
		if err != nil {
			return
		}
		if p.PID <= 0 {
			t.Errorf("process %d", p.PID)
		}
		if wakeRole(p, "conduct", t.TempDir(), here()) == alive && !stoodOverBy(data, t) {
			t.Errorf("%s: a process that lives stands over nothing", data)
		}
	})
}

// stoodOverBy reports whether a run with such a file is stood over.
func stoodOverBy(data []byte, t *testing.T) bool {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, protocol.ConductFile), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return stoodOver(dir, here())
}
