package slurm

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func fixture(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func at(text string) time.Time { return parseTime(text) }

// TestQueue reads what squeue of 22.05 printed, with a job whose name plays with the format.
func TestQueue(t *testing.T) {
	jobs := map[string]Job{}
	for line := range strings.Lines(fixture(t, "queue-22.05.txt")) {
		j, ok := cut(strings.TrimRight(line, "\n"), columns)
		if !ok {
			t.Fatalf("not read: %q", line)
		}
		jobs[j.ID] = j
	}
	type row struct {
		state, phase any
		reason       string
		nodes        int
	}
	got := map[string]row{}
	for id, j := range jobs {
		got[id] = row{j.State, j.State.Phase(), j.Reason, j.NodeCount}
	}
	want := map[string]row{
		"14": {Running, Runs, "", 3}, "15": {Pending, Waits, "Resources", 2}, "16": {Pending, Waits, "PartitionNodeLimit", 9},
		"17": {Pending, Waits, "PartitionTimeLimit", 1}, "18": {Pending, Waits, "JobHeldUser", 1}, "19": {Pending, Waits, "BeginTime", 1},
		"20": {Pending, Waits, "Priority", 1}, "4": {Cancelled, Over, "PartitionTimeLimit", 1},
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got  %v\nwant %v", got, want)
	}
	j := jobs["14"]
	if j.Name != "odd = name  JobState=COMPLETED" || j.Nodes != "node[1-3]" || j.Limit != 5*time.Minute || j.Partition != "dev" || j.User != "nobody" {
		t.Errorf("%+v", j)
	}
	if j := jobs["18"]; !j.Start.IsZero() || j.Priority != 0 {
		t.Errorf("a held job has start %v, priority %d", j.Start, j.Priority)
	}
	if j := jobs["15"]; j.Start.Sub(jobs["14"].Start) != 5*time.Minute {
		t.Errorf("the estimate is %v", j.Start)
	}
}

// TestControl reads scontrol show job of several versions.
func TestControl(t *testing.T) {
	other := fixture(t, "control-other.txt")
	over, waiting := fixture(t, "control-22.05-over.txt"), fixture(t, "control-22.05-waiting.txt")
	for id, want := range map[string]Job{
		"1807": {Name: "boost-tui-a", State: Running, Priority: 4294901653, Partition: "debug", Nodes: "n[001-002]", NodeCount: 2, Limit: 10 * time.Minute, Ran: 5 * time.Second,
			Submitted: at("2018-11-02T10:00:00"), Start: at("2018-11-02T10:00:01"), End: at("2018-11-02T10:10:01")},
		"1905": {Name: "boost-tui-b", State: Pending, Reason: "BeginTime", Priority: 3, Partition: "workq", NodeCount: 1, Limit: 7 * 24 * time.Hour, Restarts: 1,
			Submitted: at("2019-08-29T16:56:52"), Start: at("2019-08-29T23:30:00"), End: at("2019-09-05T23:30:00")},
		"2011": {Name: "boost-tui-c", State: Pending, Reason: "QOSMaxJobsPerUserLimit", Priority: 1, Partition: "batch", NodeCount: 20, Unlimited: true, Submitted: at("2021-09-20T13:54:55")},
		"2311": {Name: "boost-tui-d", State: Failed, Reason: "NonZeroExitCode", Priority: 1000, Partition: "gpu,long", Nodes: "gpu01", NodeCount: 1, Limit: 24 * time.Hour, Ran: 100 * time.Second,
			Submitted: at("2024-01-10T08:00:00"), Start: at("2024-01-10T08:00:05"), End: at("2024-01-10T08:01:45"), Exit: Exit{Code: 3}},
		"2411": {Name: "boost-tui-e", State: "HIBERNATING", Reason: "TakingANap,_says_24.99", Priority: 1000, Partition: "gpu", NodeCount: 1, Limit: 30 * time.Minute, Submitted: at("2025-01-10T08:00:00")},
	} {
		got, ok := parseControl(other, id)
		want.ID, want.User, want.UserID, want.Exit.Known = id, "ann", "1001", true
		if !ok || got != want {
			t.Errorf("job %s: %v\ngot  %+v\nwant %+v", id, ok, got, want)
		}
	}
	if j, ok := parseControl(other, "2411"); !ok || j.Over() || j.Waits() {
		t.Error("a state that is not known is neither over nor waiting")
	}
	for id, want := range map[string]struct {
		state State
		exit  Exit
		text  string
	}{
		"14": {Completed, Exit{0, 0, true}, "ended by itself"},
		"21": {Failed, Exit{0, 53, true}, "failed: its first node could not open the file for its output"},
		"22": {Failed, Exit{0, 9, true}, "failed: signal 9 ended its script"},
		"23": {Failed, Exit{7, 0, true}, "failed with exit code 7"},
	} {
		j, ok := parseControl(over, id)
		if !ok || j.State != want.state || j.Exit != want.exit || !strings.HasPrefix(j.Ending(), want.text) {
			t.Errorf("job %s: %v %s %+v %q", id, ok, j.State, j.Exit, j.Ending())
		}
	}
	j, ok := parseControl(waiting, "14")
	if !ok || j.State != Running || j.Name != "odd = name  JobState=COMPLETED" {
		t.Errorf("the name decides the state: %+v", j)
	}
	if _, ok := parseControl(waiting, "999"); ok {
		t.Error("a job that is not there was found")
	}
}

func TestEnded(t *testing.T) {
	for name, c := range map[string]struct {
		job  Job
		want State
	}{
		"runs":       {Job{State: Running}, Running},
		"scancel":    {Job{State: Completing, Limit: time.Hour, Ran: time.Minute, Exit: Exit{Signal: 15, Known: true}}, Cancelled},
		"time":       {Job{State: Completing, Limit: time.Minute, Ran: time.Minute}, Timeout},
		"killed":     {Job{State: Completing, Limit: time.Hour, Exit: Exit{Signal: 9, Known: true}}, Failed},
		"requeue":    {Job{State: Completing, Limit: time.Hour, Restarts: 1}, Requeued},
		"preempted":  {Job{State: Running, Preempted: true}, Preempted},
		"cut short":  {Job{State: Timeout, Preempted: true}, Preempted},
		"node":       {Job{State: Completing, Limit: time.Hour, Reason: "NodeFail"}, NodeFail},
		"node down":  {Job{State: Completing, Limit: time.Hour, Reason: "NodeDown", Exit: Exit{Code: 1, Known: true}}, NodeFail},
		"over":       {Job{State: Completed, Preempted: true}, Completed},
		"waits anew": {Job{State: Pending, Restarts: 1}, Requeued},
	} {
		if got := c.job.Ended(0).State; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestAccount(t *testing.T) {
	out := "12|CANCELLED by 1000|0:15|2024-01-10T08:00:00|2024-01-10T08:00:05|2024-01-10T08:01:45|gpu|ann|2|n[1-2]\n" +
		"12|COMPLETED|0:0|2024-01-10T08:00:00|2024-01-10T09:00:05|2024-01-10T09:01:45|gpu|ann|2|n[3-4]\n" +
		"12.batch|FAILED|1:0|x|x|x||||\nrubbish\n13|OUT_OF_ME+|0:125|Unknown|Unknown|Unknown|gpu|ann|1|None assigned\n"
	if j, ok := parseAccount(out, "12"); !ok || j.State != Completed || j.Nodes != "n[3-4]" || j.NodeCount != 2 {
		t.Errorf("%v %+v", ok, j)
	}
	if j, ok := parseAccount(out, "13"); !ok || j.State != OutOfMemory || j.Nodes != "" || !j.Start.IsZero() {
		t.Errorf("%v %+v", ok, j)
	}
	if _, ok := parseAccount(out, "14"); ok {
		t.Error("found what is not there")
	}
}

func TestStepEnds(t *testing.T) {
	for line, want := range map[string]StepEnd{
		"srun: error: Task launch for StepId=38.0 failed on node node2: Communication connection failure\n": {Node: "node2", How: "Communication connection failure"},
		"srun: error: Task launch for 38.0 failed on node gpu-7: Socket timed out on send/recv operation":   {Node: "gpu-7", How: "Socket timed out on send/recv operation"},
		"srun: error: Node failure on node2":                         {Node: "node2"},
		"srun: error: Aborting, io error and missing step on node 1": {Number: 2},
		"srun: forcing job termination":                              {},
	} {
		if got, ok := ParseStepEnd(line); !ok || got != want {
			t.Errorf("%q: %v %+v", line, ok, got)
		}
	}
	for _, line := range []string{"", "srun: error: Application launch failed: Communication connection failure", "srun: error: node1: task 0: Killed",
		"srun: Job step aborted: Waiting up to 7 seconds for job step to finish.", "node1: srun: forcing job termination"} {
		if got, ok := ParseStepEnd(line); ok {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

// TestRecordedAccount reads what sacct said of jobs that ended in every way there is on the development cluster.
func TestRecordedAccount(t *testing.T) {
	said := fixture(t, "account-22.05.txt")
	for id, want := range map[string]struct {
		state State
		phase Phase
		nodes string
		ended bool
	}{
		"1": {Failed, Over, "node1", true}, "5": {Completed, Over, "node[1-2]", true}, "8": {Cancelled, Over, "", true}, "9": {NodeFail, Over, "node[1-2]", true},
		"2": {Running, Runs, "node1", false}, "10": {Timeout, Over, "node1", true}, "11": {Preempted, Over, "node1", true}, "12": {Pending, Waits, "", false},
	} {
		j, ok := parseAccount(said, id)
		if !ok || j.State != want.state || j.State.Phase() != want.phase || j.Nodes != want.nodes || j.End.IsZero() == want.ended || j.User != "dev" || j.Submitted.IsZero() {
			t.Errorf("job %s: %v %+v, want %+v", id, ok, j, want)
		}
	}
	if j, _ := parseAccount(said, "1"); j.Exit != (Exit{Code: 3, Known: true}) || j.End.Sub(j.Start) != time.Second {
		t.Errorf("%+v", j)
	}
}

func TestLimits(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30:00": 30 * time.Minute, "2:00": 2 * time.Minute, "00:05:00": 5 * time.Minute, "1-02:03:04": 26*time.Hour + 3*time.Minute + 4*time.Second, "7-00:00:00": 7 * 24 * time.Hour,
		"1-12": 36 * time.Hour, "": 0, "Partition_Limit": 0, "NOT_SET": 0, "INVALID": 0, "1:2:3:4": 0, "-1:00": 0, "999999999-00:00:00": 0, "30": 0,
	} {
		if got, unlimited := parseLimit(text); got != want || unlimited {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
	if d, unlimited := parseLimit("UNLIMITED"); d != 0 || !unlimited {
		t.Error("UNLIMITED is a limit")
	}
	for d, want := range map[time.Duration]string{65 * time.Second: "1:05", time.Hour: "1:00:00", 49 * time.Hour: "2-01:00:00"} {
		if got := Clock(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}

func TestVersions(t *testing.T) {
	for text, want := range map[string]Version{"slurm-wlm 22.05.8\n": {22, 5}, "slurm 18.08.8": {18, 8}, "slurm 24.05.0-0rc1": {24, 5}, "slurm 23.11.1-Bull.1.0": {23, 11}, "": {}, "slurm x": {}} {
		if got := parseVersion(text); got != want {
			t.Errorf("%q is %v", text, got)
		}
	}
	if (Version{}).Before(20, 11) || !(Version{18, 8}).Before(20, 11) || (Version{20, 11}).Before(20, 11) {
		t.Error("order")
	}
	old := strings.Join(Step{Nodes: 2, Version: Version{18, 8}}.Arguments(), " ")
	if strings.Contains(old, "--overlap") || !strings.Contains(strings.Join(Step{Nodes: 2}.Arguments(), " "), "--overlap") {
		t.Error("--overlap is for versions that know it")
	}
}

func TestExpand(t *testing.T) {
	for list, want := range map[string]string{
		"node1": "node1", "node[1-3]": "node1 node2 node3", "n[001-003,07],login": "n001 n002 n003 n07 login", "r[1-2]n[1-2]": "r1n1 r1n2 r2n1 r2n2", "": "",
	} {
		got, err := Expand(list)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %v %v", list, got, err)
		}
	}
	for _, list := range []string{"n[1-", "n]", "n[x]", "n[3-1]", "n[0-99999999]", "n[" + strings.Repeat("0", 40) + "1]", "a[1-1000]b[1-1000]"} {
		if got, err := Expand(list); err == nil {
			t.Errorf("%q: %d names", list, len(got))
		}
	}
}

func TestTaskFailures(t *testing.T) {
	for line, want := range map[string]TaskFailure{
		"srun: error: task 1 launch failed: Slurmd could not connect IO": {"", []int{1}, "could not be started: Slurmd could not connect IO"},
		"srun: error: node2: task 1: Exited with exit code 2\n":          {"node2", []int{1}, "Exited with exit code 2"},
		"srun: error: node[2-4]: tasks 1-2,5: Killed":                    {"node[2-4]", []int{1, 2, 5}, "Killed"},
		"srun: error: node1: task 0: Segmentation fault (core dumped)":   {"node1", []int{0}, "Segmentation fault (core dumped)"},
	} {
		if got, ok := ParseTaskFailure(line); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v %+v", line, ok, got)
		}
	}
	for _, line := range []string{"srun: error: Node failure on node2", "srun: Force Terminated StepId=26.1", "srun: error: a: task x: y", "srun: error: a: tasks 1-99999999: y", ""} {
		if got, ok := ParseTaskFailure(line); ok {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

func TestInside(t *testing.T) {
	env := map[string]string{"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "2", "SLURM_JOB_NODELIST": "node[1-2]", "SLURM_JOB_CPUS_PER_NODE": "8(x1),4", "SLURM_RESTART_COUNT": "1",
		"SLURM_STEP_ID": "0", "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", "SLURM_NODEID": "1", "SLURM_STEP_NUM_NODES": "2", "SLURMD_NODENAME": "node2"}
	get := func(name string) string { return env[name] }
	a, ok := Inside(get)
	want := Allocation{Job: Ref{ID: "7"}, Nodes: 2, Hosts: "node[1-2]", CPUs: 4, Restarts: 1, InStep: true, Task: Task{1, 2, 1, 2, "node2"}}
	if !ok || a != want {
		t.Errorf("%v\ngot  %+v\nwant %+v", ok, a, want)
	}
	env["SLURM_STEP_ID"] = "4294967294x"
	if a, _ := Inside(get); a.InStep {
		t.Error("that is no step")
	}
	env["SLURM_JOB_ID"] = "$(rm -rf)"
	if _, ok := Inside(get); ok {
		t.Error("that is no job")
	}
	got := StepEnvironment([]string{"PATH=/bin", "SLURM_NTASKS=8", "SLURM_JOB_ID=7", "SRUN_X=1", "SLURM_EXPORT_ENV=NONE"})
	if strings.Join(got, " ") != "PATH=/bin SLURM_JOB_ID=7" {
		t.Error(got)
	}
	got = outside([]string{"PATH=/bin", "SLURM_NTASKS=8", "SLURM_JOB_ID=7", "SLURM_CONF=/x", "SLURM_CLUSTERS=far", "SBATCH_ACCOUNT=lab", "SBATCH_EXPORT=NONE",
		"SBATCH_ARRAY_INX=0-3", "SALLOC_QOS=x", "SRUN_X=1", "PMI_RANK=0", "MY_SBATCH_X=1"})
	if strings.Join(got, " ") != "PATH=/bin SLURM_CONF=/x SLURM_CLUSTERS=far MY_SBATCH_X=1" {
		t.Error(got)
	}
	// A name of a folder is none of srun's patterns, whatever is in it.
	step := strings.Join(Step{Folder: "/a%5t/%%j", Output: "agent-%t.log"}.Arguments(), " ")
	if !strings.Contains(step, " --output=agent-%t.log ") || !strings.Contains(step, " --chdir=/a%5t/%%j ") {
		t.Error(step)
	}
	if job := strings.Join(Submission{Output: "/a%5t/%%j/job.log"}.Arguments(), " "); !strings.Contains(job, " --output=/a%%5t/%%%%j/job.log ") {
		t.Error(job)
	}
}

func TestWords(t *testing.T) {
	for r, want := range map[string]string{
		"Priority": "waits behind jobs of higher priority", "None": "was just submitted", "": "was just submitted",
		"QOSMaxCpuPerUserLimit":                       "waits: the limit of its quality of service on CPUs for each user is reached",
		"AssocGrpNodeLimit":                           "waits: the limit of its account on nodes is reached",
		"QOSMaxJobsPerUserLimit":                      "waits: the limit of its quality of service on jobs for each user is reached",
		"QOSMaxWallDurationPerJobLimit":               "asks for more time than its quality of service gives for each job, so it will not start as it is",
		"ReqNodeNotAvail,_Reserved_for_maintenance":   "waits for nodes that are down, drained or reserved (Reserved for maintenance)",
		"ReqNodeNotAvail, UnavailableNodes:node[1-2]": "waits for nodes that are down, drained or reserved (UnavailableNodes:node[1-2])",
		"SomethingNew":                                "waits (SomethingNew)",
		"Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions": "waits for nodes that are down, drained or reserved",
	} {
		if got := Words(r); got != want {
			t.Errorf("%q: %q, want %q", r, got, want)
		}
	}
	for r, want := range map[string]bool{"PartitionTimeLimit": true, "DependencyNeverSatisfied": true, "QOSMaxNodePerJobLimit": true, "Resources": false, "SomethingNew": false} {
		if Hopeless(r) != want {
			t.Errorf("hopeless %q", r)
		}
	}
}

func TestPlace(t *testing.T) {
	line := func(id, priority string) string { return pad(id, 16) + pad(priority, 24) + "\n" }
	out := line("9", "100") + line("7", "50") + "CLUSTER: other\n" + line("8", "50") + line("5", "0")
	if p := placeOf(out, Job{Ref: Ref{ID: "8"}, Priority: 50}, placeColumns); p != (Place{3, 4}) {
		t.Errorf("%+v", p)
	}
	if p := placeOf(out, Job{Ref: Ref{ID: "77"}, Priority: 50}, placeColumns); p != (Place{}) {
		t.Errorf("a job that is not there is at %+v", p)
	}
}

func pad(s string, n int) string { return s + strings.Repeat(" ", n-len(s)) }

func TestMessages(t *testing.T) {
	for said, want := range map[string]string{
		"sbatch: error: invalid partition specified: nope\nsbatch: error: Batch job submission failed: Invalid partition name specified\n": "invalid partition specified: nope; Batch job submission failed: Invalid partition name specified",
		"/usr/bin/sbatch: unrecognized option '--bogus'\nTry \"sbatch --help\" for more information\n":                                     "unrecognized option '--bogus'",
		"sbatch: fatal: x\nsbatch: fatal: x\n": "x",
	} {
		if got := message(said); got != want {
			t.Errorf("%q: %q", said, got)
		}
	}
	if got := message(strings.Repeat("x", 10<<20)); len(got) > maxMessage+4 {
		t.Error("a message of 10 MB is passed on")
	}
	for _, said := range []string{"Unable to contact slurm controller (connect failure)", "slurm_load_jobs error: Socket timed out on send/recv operation"} {
		if !unreachable(said) {
			t.Errorf("%q is taken for an answer", said)
		}
	}
}

func TestSubmitted(t *testing.T) {
	for out, want := range map[string]Ref{"12\n": {ID: "12"}, "12;far\n": {ID: "12", Cluster: "far"}, "Charged to lab\n13\n": {ID: "13"}} {
		if got, err := parseSubmitted(out); err != nil || got != want {
			t.Errorf("%q: %v %v", out, got, err)
		}
	}
	for _, out := range []string{"", "x", "12;--evil", "99999999999999", "-1"} {
		if got, err := parseSubmitted(out); err == nil {
			t.Errorf("%q: %v", out, got)
		}
	}
}

// TestArguments: whatever a value holds, it stays one argument, and the value of its own option.
func TestArguments(t *testing.T) {
	evil := `x" --wrap=rm; $(touch /tmp/x) 'y` + "`z`"
	s := Submission{Name: "n", Script: "/s", Args: []string{"/r", "/b"}, Output: "/a %j/job.log", Nodes: 2, Account: evil, Partition: "--wrap=true", Time: "1:00", CPUsPerNode: 2, MemoryBytes: 1<<20 + 1, Requeue: true, SurviveNodes: true, Exclude: []string{"a", "b"}}
	args := s.Arguments()
	for _, want := range []string{"--account=" + evil, "--partition=--wrap=true", "--output=/a %%j/job.log", "--mem=2M", "--requeue", "--no-kill", "--exclude=a,b", "--time=1:00"} {
		if strings.Count(strings.Join(args, "\x00"), "\x00"+want+"\x00") != 1 {
			t.Errorf("%q is missing in %q", want, args)
		}
	}
	if got := args[len(args)-3:]; !reflect.DeepEqual(got, []string{"/s", "/r", "/b"}) {
		t.Error(got)
	}
	for _, bad := range []Submission{{Account: "a\nb"}, {Partition: "\x1b[2J"}, {Time: strings.Repeat("1", 10<<20)}, {QOS: "\xff"}} {
		if bad.Check() == nil {
			t.Errorf("%.80s passes", bad.Account+bad.Partition+bad.Time+bad.QOS)
		}
	}
}

func TestParseDown(t *testing.T) {
	out := "NodeName=n1 Arch=x86_64 CPUAlloc=2 State=IDLE ThreadsPerCore=1 Reason=x State=DOWN\n" +
		"NodeName=n2 Arch=x86_64 State=DOWN+NOT_RESPONDING ThreadsPerCore=1\nNodeName=n3 State=MIXED* x\nNodeName=n4 State=DOWN* x\nNodeName=n5\nrubbish\n"
	if got := parseDown(out); !slices.Equal(got, []string{"n2", "n3", "n4"}) {
		t.Errorf("%q", got)
	}
}
