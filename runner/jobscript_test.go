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
	script, command, err := JobScript(e)
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
	e.Where.Setup = "none-such"
	if _, _, err := JobScript(e); err == nil {
		t.Error("a setup that is not there has a script")
	}
}
