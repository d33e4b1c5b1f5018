package userconfig

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const example = `
[slurm]
account = "lab"
partition = "gpu"
lines = ["#SBATCH --exclusive"]

[setup.cuda]
lines = ["module load cuda/12"]
env = { NCCL_DEBUG = "INFO", NOTE = "it's \"quoted\"" }

[ssh]
options = ["-oPort=2222"]

[place]
interface = "ib0"
heartbeat-timeout = 30
`

func TestParse(t *testing.T) {
	c, err := Parse(example)
	want := Config{Slurm: Slurm{Account: "lab", Partition: "gpu", Lines: []string{"#SBATCH --exclusive"}},
		Setup: map[string]Setup{"cuda": {Lines: []string{"module load cuda/12"}, Env: map[string]string{"NCCL_DEBUG": "INFO", "NOTE": `it's "quoted"`}}},
		SSH:   SSH{Options: []string{"-oPort=2222"}}, Place: Place{Interface: "ib0", HeartbeatTimeout: 30}}
	if err != nil || !reflect.DeepEqual(c, want) {
		t.Fatalf("%v\ngot  %+v\nwant %+v", err, c, want)
	}
	if _, err := c.Named("cuda"); err != nil {
		t.Error(err)
	}
	if _, err := c.Named("nope"); err == nil || !strings.Contains(err.Error(), "it has cuda") {
		t.Error(err)
	}
	if s, err := c.Named(""); err != nil || len(s.Lines) > 0 {
		t.Error(s, err)
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"[slurm]\naccont = \"x\"":                                    "slurm.accont is not known",
		"[slurm]\nlines = [\"rm -rf /\"]":                            "does not begin with #SBATCH",
		"[slurm]\nlines = [\"#SBATCH -x\\nrm\"]":                     "line break",
		"[setup.a]\nlines = [\"a\\nb\"]":                             "line break",
		"[setup.a]\nlines = [\"#SBATCH -n 1\"]":                      "belong into [slurm]",
		"[setup.a]\nenv = { \"A B\" = \"x\" }":                       "no name of a variable",
		"[setup.a]\nenv = { \"A;rm\" = \"x\" }":                      "no name of a variable",
		"[ssh]\noptions = [\"host\"]":                                "no option of ssh",
		"[place]\nheartbeat-timeout = 1":                             "from 3 to 3600",
		"[slurm]\npartition = \"a\\u001b[2J\"":                       "control character",
		"[slurm]\npartition = \"" + strings.Repeat("x", 2000) + "\"": "bytes",
		"[slurm": "",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v", text, err)
		}
	}
}

// TestOnlyTheUsersOwn: a file that somebody else could have written is not used, for its lines run as the user.
func TestOnlyTheUsersOwn(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.toml")
	if c, err := LoadFile(path); err != nil || c.Path != "" {
		t.Fatalf("no file is no error: %v", err)
	}
	write := func(mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(path, []byte(example), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	write(0o600)
	if c, err := LoadFile(path); err != nil || c.Slurm.Account != "lab" || c.Path != path {
		t.Fatalf("%v %+v", err, c)
	}
	for _, mode := range []os.FileMode{0o620, 0o602} {
		write(mode)
		if _, err := LoadFile(path); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	write(0o600)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadFile(path); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a folder that all may write to: %v", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link.toml")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadFile(link); err != nil {
		t.Errorf("a link to one's own file: %v", err)
	}
	if _, err := LoadFile(dir); err == nil {
		t.Error("a folder is read")
	}
	if os.Geteuid() != 0 {
		t.Skip("root alone can give a file to somebody else")
	}
	if err := os.Chown(path, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadFile(path); err == nil || !strings.Contains(err.Error(), "belongs to user 65534") {
		t.Errorf("another user's file: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(example)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		for _, s := range c.Setup {
			for _, line := range append(s.Lines, c.Slurm.Lines...) {
				if strings.ContainsAny(line, "\n\r\x00\x1b") {
					t.Fatalf("%q is a line", line)
				}
			}
		}
	})
}
