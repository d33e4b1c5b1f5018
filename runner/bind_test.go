package runner

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"boost-tui/experiment"

	"golang.org/x/sys/unix"
)

func TestPortions(t *testing.T) {
	list := []int{0, 1, 2, 3, 4}
	var all []int
	for i := range 3 {
		all = append(all, share(list, i, 3)...)
	}
	if !slices.Equal(all, list) {
		t.Error(all)
	}
	if share(list, 0, 6) != nil || share(list, 0, 0) != nil {
		t.Error("there is not one for each")
	}
}

// TestBinding starts children on single processors, and goes back to where it was.
func TestBinding(t *testing.T) {
	var was unix.CPUSet
	if err := unix.SchedGetaffinity(0, &was); err != nil {
		t.Fatal(err)
	}
	given := map[string]string{"SLURM_CPUS_PER_TASK": strconv.Itoa(was.Count()), "CUDA_VISIBLE_DEVICES": "2,3,5,7"}
	e := experiment.Default()
	e.Step.Device = experiment.DeviceCUDA
	b := bindingOf(e, func(name string) string { return given[name] })
	if len(b.cpus) != was.Count() {
		t.Fatalf("%v of %d", b.cpus, was.Count())
	}
	n := len(b.cpus)
	for i := range n {
		out, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		p, err := b.start(i, n, func() (*os.Process, error) {
			cmd := exec.Command("/bin/grep", "Cpus_allowed_list", "/proc/self/status")
			cmd.Stdout = out
			return cmd.Process, cmd.Run()
		})
		data, _ := os.ReadFile(out.Name())
		if _, list, _ := strings.Cut(string(data), ":"); err != nil || strings.TrimSpace(list) != strconv.Itoa(b.cpus[i]) {
			t.Errorf("%v %v: %s, want %d", p, err, data, b.cpus[i])
		}
	}
	var now unix.CPUSet
	if err := unix.SchedGetaffinity(0, &now); err != nil || now != was {
		t.Error("this process stays bound")
	}
	if env := b.environ([]string{"A=1"}, 1, 2); env[len(env)-1] != "CUDA_VISIBLE_DEVICES=5,7" {
		t.Error(env)
	}
	given["SLURM_CPUS_PER_TASK"] = strconv.Itoa(was.Count() + 1)
	if b := bindingOf(e, func(name string) string { return given[name] }); b.cpus != nil {
		t.Error("it is bound where it is not confined")
	}
	if b := bindingOf(experiment.Default(), func(string) string { return "" }); b.cpus != nil || b.cards != nil {
		t.Error("nothing was given")
	}
}

// What is sampled of a card belongs to the rank that was given it.
func TestCardOfARank(t *testing.T) {
	e := experiment.Default()
	e.Step.Device = experiment.DeviceCUDA
	for given, want := range map[string][2]string{"": {"0", "1"}, "3,5": {"3", "5"}, "2, 3, 6, 7": {"2", "6"}, "GPU-a,GPU-b": {"GPU-a", "GPU-b"}, "4": {"4", "4"}} {
		b := bindingOf(e, func(name string) string { return map[string]string{"CUDA_VISIBLE_DEVICES": given}[name] })
		if got := [2]string{b.card(0, 2), b.card(1, 2)}; got != want {
			t.Errorf("%q: %v, want %v", given, got, want)
		}
	}
	if got := bindingOf(experiment.Default(), func(string) string { return "1" }).card(0, 1); got != "" {
		t.Errorf("cpu: card %q", got)
	}
}
