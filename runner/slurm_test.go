package runner

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/runner/protocol"
	"boost-tui/runner/slurm"
	"boost-tui/runner/userconfig"
)

// slurmTools puts scripts in the place of Slurm's tools, for answers that no cluster at hand gives.
func slurmTools(t *testing.T, scripts map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for _, tool := range []string{"sbatch", "squeue", "scontrol", "scancel", "srun"} {
		body, ok := scripts[tool]
		if !ok {
			body = "exit 1"
		}
		if err := os.WriteFile(filepath.Join(dir, tool), []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "SLURM_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
}

// jobScripted writes the script of a job with a setup.
func jobScripted(t *testing.T, setup userconfig.Setup, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), jobScriptFile)
	if err := os.WriteFile(path, jobScript(userconfig.Config{Slurm: userconfig.Slurm{Lines: lines}}, setup), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestJobScript runs the script by the shell that a job has: whatever signs are in values and paths stay what they are, and the
// program gets what it needs.
func TestJobScript(t *testing.T) {
	dir := filepath.Join(t.TempDir(), `a 'b' "c" $(touch evil) ; rm -rf x`)
	program := filepath.Join(dir, "program $HOME")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(program, []byte("#!/bin/sh\nprintf '%s\\n' \"$@\" \"$VALUE\" \"$BOOST_JOB_SECONDS\"\n"), 0o700)); err != nil {
		t.Fatal(err)
	}
	value := "x'; touch evil; '\n$(touch evil) `touch evil` \\"
	script := jobScripted(t, userconfig.Setup{Env: map[string]string{"VALUE": value}, Lines: []string{"true # a comment", "if true; then", "  true", "fi"}}, "#SBATCH --exclusive")
	out, err := exec.Command(shell, script, dir, program, "--foreground").CombinedOutput()
	if want := "conduct\n--inside\n--run\n" + dir + "\n--foreground\n" + value + "\n0\n"; err != nil || string(out) != want {
		t.Fatalf("%v\ngot  %q\nwant %q", err, out, want)
	}
	text, _ := os.ReadFile(script)
	if head, _, _ := strings.Cut(string(text), "boost_failed"); !strings.Contains(head, "\n#SBATCH --exclusive\n") {
		t.Error("lines for sbatch must come before the first command")
	}
}

// TestJobScriptFails: what fails in a setup is named, and nothing starts.
func TestJobScriptFails(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		setup        userconfig.Setup
		dir, program string
		want         string
	}{
		"module":  {userconfig.Setup{Lines: []string{"boost_no_such_module load x"}}, dir, "/bin/true", "the setup of the job failed with exit code 127 at: boost_no_such_module load x"},
		"folder":  {userconfig.Setup{}, dir + "/none", "/bin/true", "is not there on"},
		"program": {userconfig.Setup{}, dir, dir + "/none", "or may not be executed"},
	} {
		out, err := exec.Command(shell, jobScripted(t, c.setup), c.dir, c.program).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v %s", name, err, out)
		}
	}
}

// queuedRun is a detached run that Slurm has the job of.
func queuedRun(t *testing.T, id string) (*Store, Info) {
	t.Helper()
	s := NewStore(t.TempDir())
	e, err := experiment.Default().Resolve()
	if err != nil {
		t.Fatal(err)
	}
	e.Where.Where = experiment.WhereSlurm
	r, dir, err := s.Create(e, CreateOptions{Hosts: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := writeJob(dir, jobFile{Kind: jobSlurm, Ref: slurm.Ref{ID: id}, Submitted: time.Now(), Host: "login"}); err != nil {
		t.Fatal(err)
	}
	t.Setenv("RUN", r.ID) // tools say that the job is called so
	theQueue().forget(slurm.Ref{ID: id})
	return s, Info{ID: r.ID, Dir: dir}
}

const squeueGone = `echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1`

// controls is scontrol's answer about a job.
func controls(id, rest string) string {
	return fmt.Sprintf("echo 'JobId=%s JobName=boost-tui-'${RUN}' UserId=ann(%d) GroupId=g(1) %s Partition=gpu NodeList=(null) Command=/x'", id, os.Geteuid(), rest)
}

func TestQueuedRuns(t *testing.T) {
	for name, c := range map[string]struct {
		squeue, scontrol string
		state            State
		cause            string
		fault            Fault
		settled          bool
	}{
		"waits": {squeue: `case "$*" in *states=PENDING*) printf '%-16s%-24s\n' 4 90 ID 50;; *) printf '%-16s%-20s%-120s%-24s%-24s%-24s%-20s%-80s%-24s\n' ID PENDING Priority N/A N/A N/A 10:00 gpu 50;; esac`,
			state: Pending, cause: "Slurm job ID waits behind jobs of higher priority; place 2 of 2 in partition gpu"},
		"never starts": {squeue: `case "$*" in *states=PENDING*) ;; *) printf '%-16s%-20s%-120s\n' ID PENDING PartitionTimeLimit;; esac`,
			state: Pending, cause: "Slurm job ID asks for more time than its partition gives"},
		"silent":    {squeue: `echo "slurm_load_jobs error: Unable to contact slurm controller (connect failure)" >&2; exit 1`, state: Pending, cause: "Slurm job ID: Slurm does not answer"},
		"cancelled": {squeue: squeueGone, scontrol: controls("ID", "JobState=CANCELLED Reason=None"), state: Cancelled, cause: "its Slurm job ID was cancelled (scancel)", fault: UserFault, settled: true},
		"setup":     {squeue: squeueGone, scontrol: controls("ID", "JobState=FAILED Reason=NonZeroExitCode ExitCode=1:0"), state: Failed, cause: "its Slurm job ID failed with exit code 1: module: not found", fault: ConfigurationFault, settled: true},
		"node":      {squeue: squeueGone, scontrol: controls("ID", "JobState=NODE_FAIL Reason=NodeFail ExitCode=0:0"), state: Failed, cause: "its Slurm job ID lost a node", fault: MachineFault, settled: true},
		"time":      {squeue: squeueGone, scontrol: controls("ID", "JobState=TIMEOUT Reason=TimeLimit TimeLimit=00:10:00"), state: Failed, cause: "its Slurm job ID reached its time limit of 10:00", fault: MachineFault, settled: true},
		"vanished":  {squeue: squeueGone, scontrol: squeueGone, state: Lost, cause: "its Slurm job ID vanished from the queue", fault: MachineFault, settled: true},
		"new state": {squeue: squeueGone, scontrol: controls("ID", "JobState=DREAMING Reason=None"), state: Pending, cause: "Slurm job ID has nodes and starts the agents there"},
	} {
		id := fmt.Sprint(900000 + len(name)*1000 + len(c.squeue) + len(c.scontrol)) // jobs are remembered by their number
		slurmTools(t, map[string]string{"squeue": strings.ReplaceAll(c.squeue, "ID", id), "scontrol": strings.ReplaceAll(c.scontrol, "ID", id)})
		s, in := queuedRun(t, id)
		if err := os.WriteFile(filepath.Join(in.Dir, jobLogFile), []byte("module: not found\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Settle(t.Context(), s, in.ID)
		want := strings.ReplaceAll(c.cause, "ID", id)
		if err != nil || got.State != c.state || !strings.HasPrefix(got.Cause, want) || got.Fault != c.fault || (got.Result != nil) != c.settled {
			t.Errorf("%s: %v %s %q fault %q settled %v\nwant %s %q", name, err, got.State, got.Cause, got.Fault, got.Result != nil, c.state, want)
		}
	}
}

// TestCancelQueued takes back a job that no agent has begun.
func TestCancelQueued(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "cancelled")
	id := "910001"
	slurmTools(t, map[string]string{
		"squeue":   `[ -e ` + mark + ` ] && { ` + squeueGone + `; }; printf '%-16s%-20s%-120s\n' ` + id + ` PENDING Resources`,
		"scontrol": "[ -e " + mark + " ] || {\n" + controls(id, "JobState=PENDING Reason=Resources") + "; exit; }\n" + controls(id, "JobState=CANCELLED Reason=None"),
		"scancel":  "echo $* >" + mark,
	})
	s, in := queuedRun(t, id)
	got, err := Cancel(t.Context(), s, in.ID, "enough")
	if err != nil || got.State != Cancelled || got.Cause != "enough" || got.Result == nil {
		t.Fatalf("%v %s %q", err, got.State, got.Cause)
	}
	if data, _ := os.ReadFile(mark); strings.TrimSpace(string(data)) != id {
		t.Errorf("scancel %s", data)
	}
	if _, err := readAgent(in.Dir); err != nil {
		t.Error("a job that starts all the same must find the run taken: ", err)
	}
}

// TestSubmission: what the experiment says goes before what the user has set, and the user's own lines before what is worked out.
func TestSubmission(t *testing.T) {
	e := experiment.Default()
	e.Parallel.TP, e.Parallel.DP, e.Where.Nodes = 2, 2, 2
	j := conductJob{Job: Job{Dir: "/runs/a", Binary: "/bt"}, Run: Run{ID: "a", Experiment: e, Predicted: &Predicted{MemBytes: 100 << 20}}, Lost: []string{"n1", "n1"}}
	c := &slurmConductor{where: experiment.Where{Nodes: 2, Partition: "said", MaxRestarts: 1}, config: userconfig.Config{Slurm: userconfig.Slurm{Partition: "set", Account: "lab"}}}
	s := c.submission(j, "/s")
	if s.Partition != "said" || s.Account != "lab" || s.CPUsPerNode != 2 || s.MemoryBytes != 2*(125<<20+rankOverheadBytes)+agentBytes || !s.Requeue || len(s.Exclude) != 1 || s.GPUsPerNode != 0 {
		t.Errorf("%+v", s)
	}
	j.Run.Predicted.HostBytes = 200 << 20
	if s := c.submission(j, "/s"); s.MemoryBytes != 2*(250<<20+rankOverheadBytes)+agentBytes {
		t.Errorf("memory of the host: %d", s.MemoryBytes)
	}
	j.Run.Experiment.Step.Device, j.Run.Predicted.MemBytes = experiment.DeviceCUDA, 70<<30
	if s := c.submission(j, "/s"); s.MemoryBytes != 2*(250<<20+rankOverheadBytes)+agentBytes || s.GPUsPerNode != 2 {
		t.Errorf("memory of a host with GPUs: %+v", s)
	}
	j.Run.Predicted.HostBytes = 0
	if s := c.submission(j, "/s"); s.MemoryBytes != 0 {
		t.Errorf("memory of a GPU was asked of the host: %d", s.MemoryBytes)
	}
	j.Run.Experiment.Step.Device = ""
	c.config.Slurm.Lines = []string{"#SBATCH --exclusive"}
	if s := c.submission(j, "/s"); s.CPUsPerNode != 0 || s.MemoryBytes != 0 {
		t.Errorf("with lines of the user's own: %+v", s)
	}
	c.config.Slurm.Lines = []string{"#SBATCH -c4 --mem=3G"}
	if s := c.submission(j, "/s"); s.CPUsPerNode != 0 || s.MemoryBytes != 0 {
		t.Errorf("with lines of the user's own: %+v", s)
	}
	if c.where.MaxRestarts = 0; c.submission(j, "/s").Requeue {
		t.Error("nobody asked for a requeue")
	}
}

// TestPlaceWithoutSlurm says what to do, before a run is made.
func TestPlaceWithoutSlurm(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := CheckPlace(experiment.Where{Where: experiment.WhereSlurm, Nodes: 1})
	var missing *slurm.MissingError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "module load slurm") {
		t.Error(err)
	}
	slurmTools(t, nil)
	if err := CheckPlace(experiment.Where{Where: experiment.WhereSlurm, Nodes: 1, Setup: "none"}); err == nil || !strings.Contains(err.Error(), "config.toml") {
		t.Error(err)
	}
	t.Setenv("SLURM_JOB_ID", "7")
	t.Setenv("SLURM_JOB_NUM_NODES", "1")
	if err := CheckPlace(experiment.Where{Where: experiment.WhereSlurm, Nodes: 2}); err == nil || !strings.Contains(err.Error(), "say --nodes 1") {
		t.Error(err)
	}
	slurmTools(t, map[string]string{"scontrol": squeueGone})
	t.Setenv("SLURM_JOB_ID", "7")
	if err := CheckPlace(experiment.Where{Where: experiment.WhereSlurm, Nodes: 1}); err == nil || !strings.Contains(err.Error(), "unset SLURM_JOB_ID") {
		t.Error("the job is over: ", err)
	}
}

// TestMargins: ranks get time to write a checkpoint before the time of their job is up, and jobs of any length get to run.
func TestMargins(t *testing.T) {
	for limit, want := range map[time.Duration]time.Duration{time.Minute: 12 * time.Second, 5 * time.Minute: time.Minute, time.Hour: limitMargin, 30 * time.Second: limitLeast} {
		if got := margin(limit); got != want {
			t.Errorf("%v: %v, want %v", limit, got, want)
		}
	}
	w := &limitWatch{job: slurm.Ref{ID: "7"}, asked: time.Now(), limit: time.Minute, began: time.Now().Add(-47 * time.Second)}
	if why := w.near(); why != "" {
		t.Error(why)
	}
	w.began = w.began.Add(-2 * time.Second)
	if why := w.near(); !strings.HasPrefix(why, limitNear) || faultOf(Run{}, Cancelled, why, nil) != MachineFault {
		t.Error(why)
	}
	if w.limit = 0; w.near() != "" {
		t.Error("there is no limit")
	}
}

// TestFront: a run in front ends when nobody is there any more, by this process's own clock.
func TestFront(t *testing.T) {
	dir := t.TempDir()
	f := frontWatch{dir: dir, wanted: true}
	if f.gone() != "" {
		t.Error("it has not been waited for")
	}
	f.at = time.Now().Add(-frontPatience - time.Second)
	if reason := f.gone(); !strings.HasPrefix(reason, frontUnheard) || stateFor(reason) != Failed {
		t.Error("it is not missed")
	}
	newFront("").beat(dir)
	if f.gone() != "" {
		t.Error("it beats, and is not seen")
	}
	if f.wanted = false; f.gone() != "" {
		t.Error("nobody was to be there")
	}
}

func FuzzJobFile(f *testing.F) {
	f.Add([]byte(`{"schema":1,"kind":"slurm","id":"12","cluster":"c"}`))
	f.Add([]byte(`{"schema":1,"kind":"slurm","id":"12; scancel"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if job, err := parseJob(data); err == nil && job.Ref.Check() != nil {
			t.Fatalf("%q names the job %+v", data, job.Ref)
		}
	})
}

func TestHostileJobFiles(t *testing.T) {
	for _, text := range []string{"", "{}", `{"schema":1,"kind":"slurm","id":"--help"}`, `{"schema":1,"kind":"slurm","id":"1","cluster":"-x"}`, `{"schema":9,"kind":"slurm","id":"1"}`,
		`{"schema":1,"kind":"slurm","id":"` + strings.Repeat("1", 1<<20) + `"}`} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, protocol.JobFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if f, err := readJob(dir); err == nil {
			t.Errorf("%.60q: %+v", text, f)
		}
	}
}
