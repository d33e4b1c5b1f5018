package runner

import "testing"

// What a host lacks that the user asked for is wrong input, and no fault of the machine that another try would mend.
func TestMistaken(t *testing.T) {
	_, err := chosenAddress("nosuch9", nil)
	for cause, want := range map[string]bool{
		"host node1: " + err.Error(): true,
		"its Slurm job 2 failed with exit code 1: " + setupFailed + " with exit code 127 at: module load x": true,
		"its Slurm job 2 failed with exit code 1: the folder of the run, /x" + notThere + "node1: runs":     true,
		"rank 1: data: stat /x/a.txt: no such file or directory (before the first step, starting up)":       true,
		"rank 1: data: read /x/a.txt: input/output error (step 3, data)":                                    false,
		"rank 1: said \"" + noInterface + "\"":                                                              false,
		"host node2 was lost: nothing was heard of it for 5s":                                               false,
	} {
		in := Info{State: Failed, Cause: cause}
		if in.Mistaken() != want {
			t.Errorf("%s: %v", cause, !want)
		}
		if want && faultOf(Run{}, Failed, cause, nil) != ConfigurationFault {
			t.Errorf("%s: it would be tried again", cause)
		}
	}
	if in := (Info{State: Cancelled, Cause: "host node1: " + err.Error()}); in.Mistaken() {
		t.Error("a run that was cancelled")
	}
}
