package slurm

import (
	"slices"
	"strings"
	"testing"
)

// What sinfo of Slurm 18 to 24 prints for the format asked for, and what may be among it.
func TestPartitions(t *testing.T) {
	out := "debug*|up|30:00|4\nlong|up|7-00:00:00|12\ngpu|down|infinite|1\nlong|up|7-00:00:00|2\nsinfo: error: something\n\x1b[2J|up|1|1\nodd|drain|n/a|?\n"
	want := []Partition{{"debug", true, true, "30:00", 4}, {"long", false, true, "7-00:00:00", 14}, {"gpu", false, false, "infinite", 1}, {"odd", false, false, "", 0}}
	if got := parsePartitions(out); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	for i, words := range []string{"default, at most 30:00, 4 nodes", "at most 7-00:00:00, 14 nodes", "down, 1 node", "down"} {
		if got := want[i].Words(); got != words {
			t.Errorf("%s: %s", want[i].Name, got)
		}
	}
}

func FuzzPartitions(f *testing.F) {
	f.Add("debug*|up|30:00|4\nlong|up|infinite|12")
	f.Add("a|up|1|99999999999999999999\na|up||")
	f.Fuzz(func(t *testing.T, out string) {
		list := parsePartitions(out)
		if len(list) > maxPartitions {
			t.Fatalf("%d partitions", len(list))
		}
		for _, p := range list {
			if strings.ContainsFunc(p.Name+p.Limit, func(r rune) bool { return r < '!' || r > '~' }) || p.Nodes < 0 {
				t.Fatalf("%+v", p)
			}
		}
	})
}
