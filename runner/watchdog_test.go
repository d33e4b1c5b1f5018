package runner

import (
	"strings"
	"testing"
	"time"
)

// Who waits in vain waits for those that are stopped; victims of the same are not blamed, however many they are.
func TestWatchdogBlamesTheCulprit(t *testing.T) {
	waits := func(rank int, label string) standing {
		return standing{Rank: rank, Step: 9, Waits: true, Label: label, What: label + ", waiting for the other ranks"}
	}
	all := []standing{waits(0, "gradients")}
	for rank := 1; rank < 16; rank++ {
		label := "gradients"
		if rank >= 8 {
			label = "qkv"
		}
		all = append(all, waits(rank, label))
	}
	with := func(last standing) []standing { return append(append([]standing{}, all[:15]...), last) }
	for name, c := range map[string]struct {
		all  []standing
		want string
	}{
		"stopped":        {with(standing{Rank: 15, Step: 9, Stopped: true, Waits: true, Label: "gradients"}), "for rank 15, which is stopped (SIGSTOP)"},
		"busy":           {with(standing{Rank: 15, Step: 9, What: "optimizer/adamw"}), "for rank 15, which is at step 9, optimizer/adamw"},
		"hangs":          {with(standing{Rank: 15, Step: 9, Ahead: true, What: "before qkv, to which its device has not come"}), "for rank 15, which is at step 9, before qkv"},
		"nobody is busy": {all, "for rank 8, which is at step 9, qkv, waiting for the other ranks; rank 9, which is at step 9, qkv, waiting for the other ranks; rank 10, which is at step 9, qkv, waiting for the other ranks; rank 11, which is at step 9, qkv, waiting for the other ranks; and 4 more"},
		"all the same":   {all[:8], "for the others, who wait as well"},
	} {
		got := overdue(c.all, 0, 2*time.Minute)
		if !strings.HasPrefix(got, "rank 0 has waited 2m0s at step 9 in gradients "+c.want) || strings.Contains(got, "rank 8") != (name == "nobody is busy") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
