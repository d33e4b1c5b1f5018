package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"boost-tui/experiment"
	"boost-tui/runner/protocol"
	"boost-tui/runner/slurm"
)

// A number that is another job's, because a file was forged or Slurm gave it again, ends no job and speaks for no run.
func TestForeignJobs(t *testing.T) {
	for name, c := range map[string]struct {
		job, user string
		uid       int
	}{
		"another name": {job: "nightly", user: "ann", uid: os.Geteuid()},
		"another run":  {job: "boost-tui-20240101-000000-x-abcd", user: "ann", uid: os.Geteuid()},
		"another user": {job: "boost-tui-'${RUN}'", user: "bob", uid: os.Geteuid() + 1},
	} {
		id := fmt.Sprint(920000 + len(name)*100 + len(c.job))
		mark := filepath.Join(t.TempDir(), "cancelled")
		slurmTools(t, map[string]string{
			"squeue":   squeueGone,
			"scontrol": fmt.Sprintf("echo 'JobId=%s JobName=%s UserId=%s(%d) GroupId=g(1) JobState=RUNNING Reason=None NodeList=n1'", id, c.job, c.user, c.uid),
			"scancel":  "echo $* >" + mark,
		})
		s, in := queuedRun(t, id)
		f, _ := readJob(in.Dir)
		err := endJob(t.Context(), &slurm.Client{}, in.Dir, f)
		if err == nil || !strings.Contains(err.Error(), "is not the run's") {
			t.Errorf("%s: %v", name, err)
		}
		if in, err := s.Load(in.ID); err != nil || in.State != Lost || !strings.Contains(in.Cause, "vanished") {
			t.Errorf("%s: %v %s %q", name, err, in.State, in.Cause)
		}
		if _, err := Cancel(t.Context(), s, in.ID, "enough"); err == nil {
			t.Errorf("%s: it could be cancelled", name)
		}
		if data, err := os.ReadFile(mark); err == nil {
			t.Errorf("%s: scancel %s", name, data)
		}
	}
}

// The job of a chain of restarts is called after its first run.
func TestJobOfAChain(t *testing.T) {
	slurmTools(t, nil)
	s, first := queuedRun(t, "930001")
	e, _ := experiment.Default().Resolve()
	next, dir, err := s.Create(e, CreateOptions{Restart: &Restart{Of: first.ID, Number: 1}})
	if err != nil {
		t.Fatal(err)
	}
	f := jobFile{Kind: jobSlurm, Ref: slurm.Ref{ID: "930001"}}
	for name, want := range map[string]bool{jobName(next): true, "boost-tui-" + first.ID: true, "": true, "boost-tui-": false, "boost-tui-" + first.ID + "x": false} {
		if got := belongs(dir, f, slurm.Job{Name: name}); got != want {
			t.Errorf("%q belongs: %v", name, got)
		}
	}
}

// A look at somebody else's run starts no program, whatever lies in its folder.
func TestLookAtOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of somebody else")
	}
	const other = 12345
	mark := filepath.Join(t.TempDir(), "started")
	scripts := map[string]string{}
	for _, tool := range []string{"sbatch", "squeue", "scontrol", "scancel", "srun"} {
		scripts[tool] = "echo " + tool + " >>" + mark
	}
	slurmTools(t, scripts)
	s, in := queuedRun(t, "940001")
	far := Info{}
	{ // and one whose conductor would be missed, were it this user's
		e, _ := experiment.Default().Resolve()
		e.Where.Where, e.Where.Hosts = experiment.WhereSSH, "n1"
		r, dir, err := s.Create(e, CreateOptions{Hosts: []string{"n1"}})
		if err != nil {
			t.Fatal(err)
		}
		far = Info{ID: r.ID, Dir: dir}
		if err := (sshRecord{Hosts: []string{"n1"}, Scattered: true}).write(dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{in.Dir, far.Dir} {
		if err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			if err == nil {
				err = os.Lchown(path, other, other)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	infos, errs := s.List(t.Context())
	if len(infos) != 2 || len(errs) > 0 {
		t.Fatalf("%+v, %v", infos, errs)
	}
	for _, got := range infos {
		if _, err := s.Load(got.ID); err != nil {
			t.Error(err)
		}
		_ = got.Job(wallNow())
		if got.needsConductor() {
			t.Errorf("%s would be given a conductor", got.ID)
		}
		if got.ID == in.ID && got.State != Pending {
			t.Errorf("%s: %s", got.State, got.Cause)
		}
		if _, err := Settle(t.Context(), s, got.ID); err != nil {
			t.Error(err)
		}
		if _, err := Cancel(t.Context(), s, got.ID, "enough"); err == nil {
			t.Error("it could be cancelled")
		}
		if _, err := os.Lstat(filepath.Join(got.Dir, protocol.ConductFile)); err == nil {
			t.Error("something was written")
		}
	}
	if data, err := os.ReadFile(mark); err == nil {
		t.Errorf("started: %s", data)
	}
	// Files of somebody else's in a folder of one's own count as little.
	if err := os.Lchown(far.Dir, 0, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := readSSH(far.Dir); err == nil {
		t.Error("hosts that somebody else names would be reached")
	}
}
