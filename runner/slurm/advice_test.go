package slurm

import (
	"strings"
	"testing"
)

// What sbatch of several versions says leads to the flag that mends it.
func TestAdvice(t *testing.T) {
	for said, want := range map[string]string{
		"Batch job submission failed: Invalid account or account/partition combination specified":                            "--account",
		"Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)": "squeue --me",
		"invalid partition specified: nosuch":                                                          "--partition",
		"Batch job submission failed: Invalid qos specification":                                       "--qos",
		"Batch job submission failed: Requested time limit is invalid (missing or exceeds some limit)": "--time",
		"Batch job submission failed: Invalid feature specification":                                   "--constraint",
		"Batch job submission failed: Invalid generic resource (gres) specification":                   "--gpus-per-node",
		"Memory specification can not be satisfied":                                                    "memory",
		"Batch job submission failed: Requested node configuration is not available":                   "--nodes",
		"Batch job submission failed: Node count specification invalid":                                "--nodes",
		"something that no version has said yet":                                                       "change what it names",
	} {
		if got := (&RejectedError{said}).Advice(); !strings.Contains(got, want) {
			t.Errorf("%s: %s", said, got)
		}
	}
}
