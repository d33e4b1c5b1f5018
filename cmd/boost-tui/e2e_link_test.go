package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"boost-tui/profiler/compare"
)

// A run beside an emulated link is slower by what the link takes, trains the same, and says so wherever its times are shown.
func TestEmulatedLinkIsMarkedEverywhere(t *testing.T) {
	p := newProgram(t)
	var plain, slowed runResult
	oneJSON(t, p.want(exitOK, shortRun("--steps", "12", "--json")...).stdout, &plain)
	oneJSON(t, p.want(exitOK, shortRun("--steps", "12", "--json", "--link", "latency=5ms,bw=1GB/s")...).stdout, &slowed)
	const link = "bw=1GB/s,latency=5ms"
	if plain.EmulatedLink != "" || slowed.EmulatedLink != link || *plain.LossLast != *slowed.LossLast {
		t.Errorf("%+v\n%+v", plain.Summary, slowed.Summary)
	}
	// Every collective takes two steps of 5 ms; compute can hide little of that here.
	if least := float64(*slowed.CommCallsPerStep) * 0.01 / 2; *slowed.StepTimeMedian < least {
		t.Errorf("%v s a step, want %v or more", *slowed.StepTimeMedian, least)
	}
	var table compare.Table
	oneJSON(t, p.want(exitOK, "compare", plain.ID, slowed.ID, "--json").stdout, &table)
	if len(table.Rows) != 2 || table.Rows[1].Comparable || table.Rows[1].EmulatedLink != link {
		t.Errorf("%+v", table.Rows)
	}
	for what, text := range map[string]string{
		"run":      p.want(exitOK, shortRun("--steps", "3", "--link", link)...).stdout,
		"show":     p.want(exitOK, "show", slowed.ID).stdout,
		"compare":  p.want(exitOK, "compare", plain.ID, slowed.ID).stdout,
		"markdown": p.want(exitOK, "compare", plain.ID, slowed.ID, "--format", "markdown").stdout,
	} {
		if !strings.Contains(text, "emulated link") || !strings.Contains(text, link) {
			t.Errorf("%s does not say that the link is emulated:\n%s", what, text)
		}
	}
	to := filepath.Join(t.TempDir(), "out")
	p.want(exitOK, "export", slowed.ID, "--to", to)
	for _, name := range []string{"steps.csv", "collectives.csv", "ranks.csv", "trace.json"} {
		data, err := os.ReadFile(filepath.Join(to, name))
		if err != nil || !strings.Contains(string(data), link) {
			t.Errorf("%s does not name the link (%v)", name, err)
		}
	}
	var record struct {
		Plan struct{ Link string }
	}
	data, err := os.ReadFile(filepath.Join(slowed.Dir, "run.json"))
	if err != nil || json.Unmarshal(data, &record) != nil || record.Plan.Link != link {
		t.Errorf("run.json: %+v, %v", record, err)
	}
	r := p.want(exitUsage, shortRun("--link", "bw=2Gb/s")...)
	if !strings.Contains(r.err, `has the unit "Gb/s"; there are B/s, KB/s`) {
		t.Errorf("%s", r.err)
	}
}
