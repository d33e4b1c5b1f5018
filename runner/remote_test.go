package runner

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/runner/mirror"
	"boost-tui/runner/protocol"
)

func TestAHostBringsHomeWhatIsItsOwnAlone(t *testing.T) {
	first, second := homeNames(Share{Host: 0, Hosts: 2, Name: "node1"}, 4), homeNames(Share{Host: 1, Hosts: 2, Name: "me@node2"}, 4)
	for name, want := range map[string][2]mirror.Class{
		"steps/r00000.jsonl":                 {mirror.Growing, mirror.None},
		"steps/r00002.jsonl":                 {mirror.None, mirror.Growing},
		"steps/r00004.jsonl":                 {mirror.None, mirror.None},
		"steps/r2.jsonl":                     {mirror.None, mirror.None},
		"steps/r00002.log":                   {mirror.None, mirror.None},
		"log/r00003.log":                     {mirror.None, mirror.Growing},
		"timeline/r00001.btl":                {mirror.Growing, mirror.None},
		"health/hnode1.jsonl":                {mirror.Growing, mirror.None},
		"health/hme_node2.jsonl":             {mirror.None, mirror.Growing},
		"exit/r00003.json":                   {mirror.None, mirror.Entire},
		"events.jsonl":                       {mirror.Growing, mirror.None},
		"agent.json":                         {mirror.Entire, mirror.None},
		"heartbeat":                          {mirror.Entire, mirror.None},
		"meet.json":                          {mirror.Entire, mirror.None},
		"part-1.json":                        {mirror.None, mirror.Entire},
		"part-0.json":                        {mirror.None, mirror.None},
		"result.json":                        {mirror.Entire, mirror.Entire},
		"host-0.json":                        {mirror.Entire, mirror.None},
		"agent-1.log":                        {mirror.None, mirror.Growing},
		"ckpt/part-5/r00002.safetensors":     {mirror.None, mirror.Bulk},
		"ckpt/part-5/.r00000.json":           {mirror.Entire, mirror.None},
		"ckpt/part-5/draft.json":             {mirror.Entire, mirror.None},
		"ckpt/step-5/manifest.json":          {mirror.None, mirror.None},
		"ckpt/part-05/r00002.safetensors":    {mirror.None, mirror.None},
		"ckpt/part-5/sub/r00002.safetensors": {mirror.None, mirror.None},
		"run.json":                           {mirror.None, mirror.None},
		"rollup.bin":                         {mirror.None, mirror.None},
		"cancel":                             {mirror.None, mirror.None},
		"conduct.json":                       {mirror.None, mirror.None},
		"job.json":                           {mirror.None, mirror.None},
		"notes.json":                         {mirror.None, mirror.None},
		".lease-0":                           {mirror.None, mirror.None},
	} {
		if got := [2]mirror.Class{first(name), second(name)}; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for name, want := range map[string][2]mirror.Class{
		"run.json":           {mirror.Entire, mirror.Entire},
		"meet.json":          {mirror.None, mirror.Entire},
		"result.json":        {mirror.None, mirror.None},
		"from/manifest.json": {mirror.Growing, mirror.Growing},
		"from/../run.json":   {mirror.None, mirror.None},
		"ckpt/part-7":        {mirror.Folder, mirror.Folder},
		"ckpt":               {mirror.None, mirror.None},
		"ckpt/step-7":        {mirror.None, mirror.None},
		"steps/r00000.jsonl": {mirror.None, mirror.None},
		"host-0.json":        {mirror.None, mirror.None},
	} {
		if got := [2]mirror.Class{awayNames(Share{Host: 0, Hosts: 2})(name), awayNames(Share{Host: 1, Hosts: 2})(name)}; got != want {
			t.Errorf("to a host, %s: %v, want %v", name, got, want)
		}
	}
}

func FuzzNames(f *testing.F) {
	for _, name := range []string{"steps/r00000.jsonl", "ckpt/part-3/.r00000.json", "../x", "exit/r99999.json"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for host := range 3 {
			s := Share{Host: host, Hosts: 3, Name: "n"}
			for _, names := range []mirror.Names{homeNames(s, 6), awayNames(s)} {
				if names(name) != mirror.None && mirror.CheckName(name) == nil && !filepath.IsLocal(name) {
					t.Fatalf("%q leads out of the folder", name)
				}
			}
		}
	})
}

func FuzzSetup(f *testing.F) {
	f.Add([]byte(`{"schema":1,"run":"20260101-000000-a","host":0,"hosts":1,"world":1,"lease_s":15}`))
	f.Add([]byte(`{"schema":1,"run":"../x","host":0,"hosts":1,"world":1,"lease_s":15}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		s, err := parseSetup(line)
		if err == nil && (checkID(s.Run) != nil || s.Host >= s.Hosts || s.Hosts > s.World || s.Dir != "" && !filepath.IsAbs(s.Dir)) {
			t.Fatalf("%+v was taken", s)
		}
		if r, err := parseSSH(line); err == nil && len(r.Hosts) == 0 {
			t.Fatal(r)
		}
		if r, err := parseHost(line); err == nil && r.Schema != Schema {
			t.Fatal(r)
		}
		if s, err := parseStatus(line); err == nil && strings.ContainsAny(s.Error, "\x1b\n") {
			t.Fatalf("%q", s.Error)
		}
	})
}

func TestLease(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lease-0")
	now := time.Now()
	l := lease{}
	l.begin(path, 10*time.Second)
	at := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
	say := func(text string) {
		if err := renewLease(path, text); err != nil {
			t.Fatal(err)
		}
	}
	if l.ended(at(5)) {
		t.Error("it ended before its time")
	}
	say("1 1\n")
	if l.ended(at(9)) || l.ended(at(18)) {
		t.Error("it ended although it was renewed")
	}
	if !l.ended(at(20)) {
		t.Error("it lasts for ever")
	}
	say("1 2\n")
	if l.ended(at(21)) {
		t.Error("it ended although it was renewed late")
	}
	if err := renewLease(filepath.Join(t.TempDir(), "gone", ".lease-0"), "x"); err != nil {
		t.Errorf("without a folder: %v", err)
	}
}

func TestStatusOfAHost(t *testing.T) {
	dir := t.TempDir()
	me, err := self()
	if err != nil {
		t.Fatal(err)
	}
	put := func(r hostRecord) {
		data, err := r.encode()
		if err == nil {
			err = protocol.WriteFile(hostPath(dir, 0), data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if s := statusOf(dir, 0, here()); s.Begun || s.Ended {
		t.Errorf("nobody came: %+v", s)
	}
	put(hostRecord{Guard: me})
	if s := statusOf(dir, 0, here()); !s.Begun || s.Ended {
		t.Errorf("its guard lives: %+v", s)
	}
	dead := me
	dead.StartTicks++
	put(hostRecord{Guard: dead, Agent: me})
	if s := statusOf(dir, 0, here()); !s.Begun || s.Ended {
		t.Errorf("its agent lives: %+v", s)
	}
	put(hostRecord{Guard: dead, Agent: dead})
	if s := statusOf(dir, 0, here()); !s.Ended || s.Error == "" {
		t.Errorf("all are dead: %+v", s)
	}
	other := me
	other.PIDSpace = "pid:[1]"
	put(hostRecord{Guard: other, Agent: other})
	if s := statusOf(dir, 0, here()); !s.Ended {
		t.Errorf("the host was started anew: %+v", s)
	}
	if err := os.WriteFile(hostPath(dir, 0), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s := statusOf(dir, 0, here()); !s.Ended || s.Error == "" {
		t.Errorf("damaged: %+v", s)
	}
}

func TestHostsBecomePartOfTheRecord(t *testing.T) {
	e := experiment.Default()
	e.Where.Where, e.Parallel.TP, e.Parallel.DP, e.Parallel.PP = experiment.WhereSSH, 2, 1, 1
	place := func(hosts string, nodes int) (Place, error) {
		e.Where.Hosts, e.Where.Nodes = hosts, nodes
		return placeOf(e.Where)
	}
	file := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(file, []byte("a\nb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := place(file, 1)
	if err == nil {
		err = settleHosts(p, &e)
	}
	if err != nil || e.Where.Hosts != "a,b" || e.Where.Nodes != 2 {
		t.Errorf("%+v, %v", e.Where, err)
	}
	if _, err := place("a,b", 3); err == nil || !strings.Contains(err.Error(), "3 nodes") {
		t.Errorf("more nodes than hosts: %v", err)
	}
	if p, err = place("a,b,c", 2); err != nil || settleHosts(p, &e) != nil || e.Where.Hosts != "a,b,c" || e.Where.Nodes != 2 {
		t.Errorf("the first ones: %+v, %v", e.Where, err)
	}
	c := p.(conducted).by.(sshConductor)
	for lost, want := range map[string]string{"": "a b", "a": "c b", "b": "a c", "c": "a b", "a b": "c b"} {
		if got := strings.Join(c.without(strings.Fields(lost)), " "); got != want {
			t.Errorf("without %q: %s, want %s", lost, got, want)
		}
	}
	was := Run{Experiment: e, Hosts: []string{"a", "b"}}
	if got := successorHosts(was, []string{"b"}); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("a successor says that it is on %v", got)
	}
	if was.Experiment.Where.Where = experiment.WhereLocal; !slices.Equal(successorHosts(was, nil), was.Hosts) {
		t.Error("a successor on this machine says that it is elsewhere")
	}
	if p, err = place("a,b,c", 1); err != nil {
		t.Fatal(err)
	}
	if err := settleHosts(p, &e); err == nil || !strings.Contains(err.Error(), "3 hosts") {
		t.Errorf("more hosts than ranks: %v", err)
	}
}

// What comes from a host that nobody wrote, or too much of it, ends its session and nothing else.
func TestWhatIsCollectedIsBounded(t *testing.T) {
	f := hostFiles{kept: map[string][]byte{}}
	var got []byte
	take := func(m mirror.Message) error { return f.collect(m, func(data []byte) { got = data }) }
	if err := take(mirror.Message{Kind: mirror.Whole, Name: "result.json", Flags: mirror.Fresh, Data: []byte("{")}); err != nil {
		t.Fatal(err)
	}
	if err := take(mirror.Message{Kind: mirror.Whole, Name: "result.json", Flags: mirror.Last, Offset: 1, Data: []byte("}")}); err != nil || string(got) != "{}" {
		t.Errorf("%q, %v", got, err)
	}
	if err := take(mirror.Message{Kind: mirror.Whole, Name: "result.json", Offset: 7, Data: []byte("}")}); err == nil {
		t.Error("a gap was taken")
	}
	big := make([]byte, mirror.MaxData)
	var err error
	for off := 0; err == nil && off <= maxFileBytes; off += len(big) {
		m := mirror.Message{Kind: mirror.Whole, Name: "meet.json", Offset: int64(off), Data: big}
		if off == 0 {
			m.Flags = mirror.Fresh
		}
		err = take(m)
	}
	if err == nil {
		t.Error("more than a file may hold was taken")
	}
	if data, err := json.Marshal(remoteStatus{Error: "x"}); err != nil || len(data) == 0 {
		t.Error(err)
	}
}
