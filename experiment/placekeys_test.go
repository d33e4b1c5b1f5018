package experiment

import (
	"strings"
	"testing"
)

func TestKeysOfOtherPlacesAreRefused(t *testing.T) {
	for _, c := range []struct{ where, key, value, want string }{
		{WhereLocal, "hosts", "node1,node2", "say --where ssh"},
		{WhereLocal, "partition", "dev", "say --where slurm"},
		{WhereLocal, "setup", "cuda", "say --where ssh or slurm"},
		{WhereLocal, "interface", "eth0", "say --where ssh or slurm"},
		{WhereSSH, "time", "60", "say --where slurm"},
		{WhereSSH, "interface", "eth0", ""},
		{WhereSlurm, "hosts", "node1", "say --where ssh"},
		{WhereSlurm, "partition", "dev", ""},
		{WhereSlurm, "setup", "cuda", ""},
	} {
		e := Default()
		e.Parallel.TP, e.Where.Where = 1, c.where
		if c.where == WhereSSH {
			e.Where.Hosts = "node1"
		}
		if err := e.Set(c.key, c.value); err != nil {
			t.Fatal(err)
		}
		r, err := e.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		err = Invalid(r.Validate(Machine{}))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.key+" "+c.value) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("where %q, %s %s: %v", c.where, c.key, c.value, err)
		}
	}
}

func TestForPlaceLeavesWhatIsSaid(t *testing.T) {
	was := Default()
	was.Where.Where, was.Where.Partition, was.Where.Account = WhereSlurm, "dev", "a"
	e := was
	e.Where.Where, e.Where.Account = WhereLocal, "b"
	if got := e.ForPlace(was); got.Where.Partition != "" || got.Where.Account != "b" {
		t.Errorf("%+v", got.Where)
	}
	if got := was.ForPlace(was); got.Where != was.Where {
		t.Errorf("%+v", got.Where)
	}
}
