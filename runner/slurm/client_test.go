package slurm

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tools are scripts in the place of Slurm's tools: they say what versions and troubles that the development cluster does not have say.
func tools(t *testing.T, scripts map[string]string) (*Client, string) {
	t.Helper()
	dir := t.TempDir()
	for name, body := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho \"$0 $*\" >>"+dir+"/calls\n"+body+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	look := func(tool string) (string, error) {
		path := filepath.Join(dir, tool)
		_, err := os.Stat(path)
		return path, err
	}
	env := func() []string {
		return []string{"PATH=/usr/bin:/bin", "SQUEUE_FORMAT=%i", "TZ=Asia/Tokyo", "SLURM_JOB_ID=5", "SBATCH_EXPORT=NONE", "SALLOC_QOS=own", "SLURM_CONF=/c"}
	}
	return &Client{Lookup: look, Environ: env}, dir
}

func calls(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestMissingTools(t *testing.T) {
	c, _ := tools(t, map[string]string{"squeue": "exit 0"})
	var missing *MissingError
	if err := c.Missing(); !errors.As(err, &missing) || missing.Tool != "sbatch" || !strings.Contains(err.Error(), "module load slurm") {
		t.Errorf("%v", err)
	}
	if _, err := c.Submit(t.Context(), Submission{}); !errors.As(err, &missing) {
		t.Errorf("%v", err)
	}
	if _, err := c.Past(t.Context(), Ref{ID: "1"}); !errors.As(err, &missing) || missing.Tool != "scontrol" {
		t.Errorf("%v", err)
	}
}

// TestSlowTools: a tool that does not answer is given up, with whatever it started.
func TestSlowTools(t *testing.T) {
	c, _ := tools(t, map[string]string{"scontrol": "sleep 100 & sleep 100", "squeue": "sleep 100", "sbatch": "sleep 100"})
	c.Patience = 200 * time.Millisecond
	began := time.Now()
	var silent *UnreachableError
	if _, err := c.Past(t.Context(), Ref{ID: "1"}); !errors.As(err, &silent) {
		t.Errorf("%v", err)
	}
	if _, err := c.Submit(t.Context(), Submission{Name: "x"}); !errors.As(err, &silent) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Past(ctx, Ref{ID: "1"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("it took %v", d)
	}
}

// TestMuchOutput: 10 MB of anything is an error, not memory.
func TestMuchOutput(t *testing.T) {
	c, _ := tools(t, map[string]string{"scontrol": "head -c 10000000 /dev/zero | tr '\\0' x"})
	if _, err := c.Past(t.Context(), Ref{ID: "1"}); err == nil || !strings.Contains(err.Error(), "more than 4 MiB") {
		t.Errorf("%v", err)
	}
}

// TestUnknownFields is a version that lacks two fields: as all do, it says so on stderr, prints nothing for them, and succeeds.
func TestUnknownFields(t *testing.T) {
	c, dir := tools(t, map[string]string{"squeue": `case "$*" in
*restartcnt*) echo "squeue: error: Invalid job format specification: restartcnt" >&2; echo "squeue: error: Invalid job format specification: prioritylong" >&2; echo rubbish;;
*) [ "$TZ" = UTC ] && [ -z "$SQUEUE_FORMAT" ] && printf '%-16s%-20s%-120s%-24s\n' 12 PENDING "(Resources)" 2024-01-10T08:00:00;;
esac`})
	for range 2 {
		jobs, err := c.Find(t.Context(), []Ref{{ID: "12"}})
		if err != nil || jobs[Ref{ID: "12"}].State != Pending || jobs[Ref{ID: "12"}].Start.IsZero() {
			t.Fatalf("%v %+v", err, jobs)
		}
	}
	if n := strings.Count(calls(t, dir), "squeue"); n != 3 { // one that fails, and then never again
		t.Errorf("asked %d times:\n%s", n, calls(t, dir))
	}
}

// TestPast follows a job through what is known of it: the queue, the controller's memory, accounting, nothing.
func TestPast(t *testing.T) {
	gone := `echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1`
	squeue := gone
	for name, c := range map[string]struct {
		scontrol, sacct string
		want            State
		vanished        bool
	}{
		"controller": {"cat " + absolute(t, "testdata/control-other.txt"), "", Failed, false},
		"accounting": {gone, "echo '2311|TIMEOUT|0:0|a|b|c|gpu|ann|1|n1'", Timeout, false},
		"forgotten":  {gone, "echo 'Slurm accounting storage is disabled' >&2; exit 1", "", true},
		"no sacct":   {gone, "", "", true},
		"runaway":    {gone, "echo '2311|RUNNING|0:0|a|b|Unknown|gpu|ann|1|n1'", "", true},
	} {
		scripts := map[string]string{"squeue": squeue, "scontrol": c.scontrol}
		if c.sacct != "" {
			scripts["sacct"] = c.sacct
		}
		client, dir := tools(t, scripts)
		r := Ref{ID: "2311"}
		for range 2 {
			jobs, err := client.Find(t.Context(), []Ref{r})
			if j := jobs[r]; err != nil || j.State != c.want || j.Vanished != c.vanished || !j.Over() || j.Ending() == "" {
				t.Errorf("%s: %v %+v", name, err, j)
			}
		}
		if n := strings.Count(calls(t, dir), "sacct"); name == "forgotten" && n != 1 {
			t.Errorf("accounting that is off is asked %d times", n)
		}
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestUnreachable: what could not be asked about is unknown, and not over.
func TestUnreachable(t *testing.T) {
	c, _ := tools(t, map[string]string{"squeue": `echo "slurm_load_jobs error: Unable to contact slurm controller (connect failure)" >&2; exit 1`})
	jobs, err := c.Find(t.Context(), []Ref{{ID: "12"}})
	var silent *UnreachableError
	if !errors.As(err, &silent) || len(jobs) != 0 {
		t.Errorf("%v %v", err, jobs)
	}
}

func TestSubmit(t *testing.T) {
	for name, c := range map[string]struct {
		sbatch, squeue string
		want           Ref
		refused        string
	}{
		"taken":     {`[ -z "$SLURM_JOB_ID$SBATCH_EXPORT$SALLOC_QOS" ] && [ "$SLURM_CONF$TZ" = /cAsia/Tokyo ] && echo "12;far"`, "", Ref{"12", "far"}, ""},
		"partition": {`echo "sbatch: error: Batch job submission failed: Invalid partition name specified" >&2; exit 1`, "", Ref{}, "Invalid partition name"},
		"account":   {`echo "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified" >&2; exit 1`, "", Ref{}, "Invalid account"},
		// The controller took the job and its answer was lost: the job is found by its name.
		"answer lost": {`echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation" >&2; exit 1`, `case "$*" in *--name=run-x*) echo 77;; esac`, Ref{ID: "77"}, ""},
	} {
		client, _ := tools(t, map[string]string{"sbatch": c.sbatch, "squeue": c.squeue})
		got, err := client.Submit(t.Context(), Submission{Name: "run-x"})
		var no *RejectedError
		if refused := errors.As(err, &no); got != c.want || refused != (c.refused != "") || refused && !strings.Contains(no.Message, c.refused) {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
	client, _ := tools(t, map[string]string{"sbatch": `echo "sbatch: error: Unable to contact slurm controller" >&2; exit 1`, "squeue": ""})
	var silent *UnreachableError
	if _, err := client.Submit(t.Context(), Submission{Name: "run-x"}); !errors.As(err, &silent) {
		t.Errorf("a controller that is down: %v", err)
	}
}

func TestCancel(t *testing.T) {
	client, dir := tools(t, map[string]string{"scancel": `echo "scancel: error: Kill job error on job id 9: Invalid job id specified" >&2; exit 1`})
	if err := client.Cancel(t.Context(), Ref{ID: "9", Cluster: "far"}); err != nil {
		t.Error(err)
	}
	if got := calls(t, dir); !strings.Contains(got, "--clusters=far 9") {
		t.Error(got)
	}
	if err := client.Cancel(t.Context(), Ref{ID: "9; rm"}); err == nil {
		t.Error("that is no job")
	}
}
