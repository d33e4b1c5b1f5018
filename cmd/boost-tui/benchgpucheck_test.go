package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"boost-tui/trainer/prove"
)

// emulatedReport is a complete one of the emulated device.
func emulatedReport() prove.Report {
	r := prove.Report{Schema: prove.Schema, Device: "emulated", EmulatedDevice: true, Figures: prove.Figures("emulated", false), Begun: time.Unix(1, 0),
		Limit: 1, Program: json.RawMessage(`{}`), Machine: prove.Machine{Cores: 1}, Complete: true}
	for _, name := range prove.Parts() {
		p := prove.Part{Name: name, State: prove.StateOK, Figures: r.Figures}
		if strings.HasPrefix(name, "rank-") {
			p.Figures += "; one rank alone, whose messages move nothing"
		}
		mark := fmt.Sprintf(`"emulated_device": true, "figures": %q`, p.Figures)
		p.Result = json.RawMessage(`{"card": "emulated device", ` + mark + `}`)
		switch name {
		case prove.PartVersions:
			p.Figures, p.Result = "nothing was measured: it says what there is", json.RawMessage(`{"program": {}}`)
		case prove.PartGoldenFP32:
			p.Result = json.RawMessage(`{"reports": [{"device": "emulated", "dtype": "fp32"}], ` + mark + `}`)
		case prove.PartGoldenBF16:
			p.Result = json.RawMessage(`{"reports": [{"device": "emulated", "dtype": "bf16"}], ` + mark + `}`)
		case prove.PartTwoRanks:
			p.Result = json.RawMessage(`{"device": "emulated"}`)
		case prove.PartTorch, prove.PartKernels, prove.PartMemcheck, prove.PartRacecheck:
			p = prove.Part{Name: name, State: prove.StateLeftOut, Reason: "not for \x1b[31m this", Optional: true}
		}
		r.Parts = append(r.Parts, p)
	}
	return r
}

// A check names the file, what is in it and what is not, in words or in one JSON value, and fails unless the report is complete.
func TestCheckReport(t *testing.T) {
	leftOut := prove.Part{Name: "products", State: prove.StateLeftOut, Reason: "no time is left of 6 s"}
	for name, c := range map[string]struct {
		change func(*prove.Report)
		code   int
		report bool
		says   []string
	}{
		"complete":   {func(*prove.Report) {}, exitOK, true, []string{"emulated, complete: 15 of 19 parts are ok, 0 failed, 4 left out", "no card was measured", "left out, and may be: attention-torch, kernel-tests, memcheck, racecheck: not for"}},
		"broken off": {func(r *prove.Report) { r.Parts, r.Complete = r.Parts[:17], false }, exitCheck, true, []string{"incomplete", "broken off before: memcheck, racecheck", "2 absent"}},
		"failed": {func(r *prove.Report) {
			p := &r.Parts[slices.Index(prove.Parts(), "products")]
			p.State, p.Reason, r.Complete = prove.StateFailed, "a fault", false
		}, exitCheck, true, []string{"1 failed", "failed: products: a fault"}},
		"no time": {func(r *prove.Report) {
			r.Parts[slices.Index(prove.Parts(), "products")], r.Complete = leftOut, false
		}, exitCheck, true, []string{"incomplete", "left out: products: no time is left"}},
		"twice":      {func(r *prove.Report) { r.Parts, r.Complete = append(r.Parts, r.Parts[18]), false }, exitCheck, false, []string{"part racecheck is there 2 times"}},
		"says it is": {func(r *prove.Report) { r.Parts = r.Parts[:3] }, exitCheck, false, []string{"complete is true"}},
		"another's":  {func(r *prove.Report) { r.Parts[1].Name = "x\x1b[31m"; r.Figures = "" }, exitCheck, false, []string{"unknown", "figures"}},
		"no schema":  {func(r *prove.Report) { r.Schema = 1 }, exitCheck, false, []string{"schema 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := emulatedReport()
			c.change(&r)
			data, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			checked(t, data, c.code, c.report, c.says)
		})
	}
	for text, want := range map[string]string{"": "EOF", `{"schema"`: "unexpected EOF", "[]": "cannot unmarshal", `{"x": 1}`: `unknown field "x"`} {
		checked(t, []byte(text), exitCheck, false, []string{want})
	}
}

// checked checks a file with that content, in both ways.
func checked(t *testing.T, data []byte, code int, report bool, says []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "r.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	r := try(t, "bench-gpu", "--check", path)
	text := r.stdout + r.err
	for _, want := range append(says, path) {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not said: %s", want, text)
		}
	}
	if r.code != code || strings.Contains(text, "\x1b") || !report && strings.Count(text, path) != strings.Count(text, "\n") {
		t.Errorf("exit %d: %s", r.code, text)
	}
	r = try(t, "bench-gpu", "--check", path, "--json")
	var c reportCheck
	if err := json.Unmarshal([]byte(r.stdout), &c); err != nil || r.err != "" || r.code != code {
		t.Fatalf("exit %d, %v: %s%s", r.code, err, r.stdout, r.err)
	}
	if c.File != path || c.Report != report || report && c.Complete != (code == exitOK) || report == (len(c.Errors) > 0) {
		t.Errorf("%s", r.stdout)
	}
}
