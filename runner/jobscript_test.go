package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"boost-tui/experiment"
)

func TestJobScriptIsTheOneThatIsSubmitted(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	if err := os.Mkdir(filepath.Join(home, "boost-tui"), 0o700); err != nil {
		t.Fatal(err)
	}
	config := "[slurm]\nlines = [\"#SBATCH --exclusive\"]\n[setup.cuda]\nlines = [\"module load cuda\"]\n"
	if err := os.WriteFile(filepath.Join(home, "boost-tui", "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	e := experiment.Default()
	e.Where = experiment.Where{Where: experiment.WhereSlurm, Nodes: 2, Partition: "$(gpu)", Setup: "cuda"}
	script, command, err := JobScript(e, &Predicted{MemBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"#!/bin/bash\n", "#SBATCH --exclusive\n", "module load cuda\n"} {
		if !strings.Contains(string(script), want) {
			t.Errorf("no %q in\n%s", want, script)
		}
	}
	if command[0] != "sbatch" || !slices.Contains(command, "--nodes=2") || !slices.Contains(command, "--partition=$(gpu)") || strings.Contains(string(script), "gpu)") {
		t.Errorf("command %q, script\n%s", command, script)
	}
	c := &slurmConductor{where: e.Where}
	submitted := c.submission(conductJob{Job: Job{Dir: "FOLDER", Binary: "PROGRAM"}, Run: Run{ID: "ID", Experiment: e, Predicted: &Predicted{MemBytes: 1 << 30}}}, "FOLDER/job.sh")
	want := submitted.Arguments()
	if i := slices.IndexFunc(want, func(a string) bool { return strings.HasPrefix(a, "--mem=") }); i < 0 {
		t.Errorf("no memory in %q", want)
	}
	c.config.Slurm.Lines = []string{"#SBATCH --exclusive"}
	submitted = c.submission(conductJob{Job: Job{Dir: "FOLDER", Binary: "PROGRAM"}, Run: Run{ID: "ID", Experiment: e, Predicted: &Predicted{MemBytes: 1 << 30}}}, "FOLDER/job.sh")
	if want = submitted.Arguments(); !slices.Equal(command[1:], want) {
		t.Errorf("shown %q, submitted %q", command, want)
	}
	e.Where.Setup = "none-such"
	if _, _, err := JobScript(e, nil); err == nil {
		t.Error("a setup that is not there has a script")
	}
}
