package main

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestUnknownWordsNameTheNearest(t *testing.T) {
	for args, want := range map[string]string{
		"run --sise tiny":       "nearest: --size",
		"plan --micro-bath 3":   "nearest: --micro-batch",
		"compare --base x":      "nearest: --baseline",
		"runs --jsn":            "nearest: --json",
		"--readonly":            "nearest: --read-only",
		"logs x --folow":        "nearest: --follow",
		"run --set stepps=3":    "nearest: steps",
		"comparre":              "nearest: compare",
		"show zzzz --runs /tmp": `no run "zzzz" in /tmp`,
	} {
		r := try(t, strings.Fields(args)...)
		if r.code != exitUsage || !strings.Contains(r.err, want) || strings.Contains(r.err, "file does not exist") {
			t.Errorf("%s: exit %d, stderr %s", args, r.code, r.err)
		}
	}
}

// What is not there is named as that, and what was broken off as that.
func TestInterruptedSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var errs strings.Builder
	code := execute(ctx, streams{in: strings.NewReader(""), out: &strings.Builder{}, err: &errs}, []string{"demo", "--runs", t.TempDir(), "--steps", "3"})
	if code != exitInterrupted || strings.Contains(errs.String(), "context canceled") {
		t.Errorf("exit %d, stderr %s", code, errs.String())
	}
}

// The rows of a plan add up to the calls that it says a step has, and a misfit is said once.
func TestPlanTextAddsUp(t *testing.T) {
	for _, args := range []string{"--size 7b --tp 4 --micro-batch 4", "--size 7b --tp 4 --scheme vanilla", "--size tiny --variant full --tp 2"} {
		text := try(t, append([]string{"plan"}, strings.Fields(args)...)...).stdout
		layers := map[bool]int{true: 32, false: 4}[strings.Contains(args, "7b")]
		sum := 0
		for _, line := range strings.Split(text, "\n") {
			m := regexp.MustCompile(`^( *)(?:forward|backward|outside, forward|outside, backward|optimizer) +(\d+) calls?,`).FindStringSubmatch(line)
			if m == nil {
				continue
			}
			n, _ := strconv.Atoi(m[2])
			if m[1] != "" { // of a block
				n *= layers
			}
			sum += n
		}
		if want := "in " + strconv.Itoa(sum) + " calls"; !strings.Contains(text, want) {
			t.Errorf("%s: rows sum to %d calls:\n%s", args, sum, text)
		}
		if n := strings.Count(text, "fit"); n != 1 {
			t.Errorf("%s: says %d times what fits:\n%s", args, n, text)
		}
	}
}
