package trainer

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"boost-tui/experiment"
	"boost-tui/trainer/checkpoint"
)

// TestDamageNamesTheCheckpointBefore: whoever cannot read the latest checkpoint is told which one is left, by the flag that was used.
func TestDamageNamesTheCheckpointBefore(t *testing.T) {
	first := (&job{e: small(t, map[string]string{"steps": "4", "checkpoint-every": "2"})}).run(t).ok(t)
	flip := func(step int) {
		path := filepath.Join(checkpoint.Dir(first.dir, step), "r00000.safetensors")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := 8 + int(binary.LittleEndian.Uint64(data)); i < len(data); i++ { // behind the header
			data[i] ^= 1
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fails := func(flag string, step int, want string) {
		t.Helper()
		j := (&job{e: small(t, map[string]string{"steps": "8", flag: checkpoint.Dir(first.dir, step)})}).run(t)
		if j.errs[0] == nil || !strings.Contains(j.errs[0].Error(), "is damaged") || !strings.Contains(j.errs[0].Error(), want) {
			t.Errorf("%s: %v, want %q", flag, j.errs[0], want)
		}
	}
	flip(4)
	before := checkpoint.Before(checkpoint.Dir(first.dir, 4), filepath.Base(first.dir))
	if before != filepath.Base(first.dir)+"@2" {
		t.Errorf("before: %q", before)
	}
	if path := checkpoint.Before(checkpoint.Dir(first.dir, 4), "another"); path != checkpoint.Dir(first.dir, 2) {
		t.Errorf("before: %q", path)
	}
	fails("resume", 4, "may be whole: --resume ")
	fails("init-from", 4, "may be whole: --init-from ")
	flip(2)
	fails("resume", 2, "there is no checkpoint before it")
}

// TestLogMarksALink: times that were taken beside an emulated link say so, wherever the log shows them.
func TestLogMarksALink(t *testing.T) {
	for link, want := range map[string]int{"": 0, "bw=2GB/s,latency=20us": 10} {
		set := map[string]string{"tp": "2"}
		if link != "" {
			set["link"] = link
		}
		j := (&job{e: small(t, set)}).run(t).ok(t)
		text := j.logs[0].String()
		if n := strings.Count(text, "  ("+experiment.EmulatedLink+")\n"); n != want {
			t.Errorf("link %q: %d of 10 steps are marked:\n%s", link, n, text)
		}
		for rank := range j.logs {
			if said := strings.Contains(j.logs[rank].String(), "messages are slowed down to bw=2GB/s,latency=20us"); said != (link != "") {
				t.Errorf("link %q: rank %d: %v", link, rank, said)
			}
		}
	}
}
