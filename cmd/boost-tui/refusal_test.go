package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"boost-tui/runner"
)

// What a place refuses is wrong input, and says which record it has left.
func TestRefusalNamesTheRun(t *testing.T) {
	err := refusal(&runner.StartError{ID: "k3fz", Err: fmt.Errorf("no such partition: %w", runner.ErrRefused)})
	if code := codeOf(context.Background(), err, true); code != exitUsage || !strings.Contains(err.Error(), "k3fz") {
		t.Errorf("exit %d: %v", code, err)
	}
	if code := codeOf(context.Background(), refusal(errors.New("lost")), true); code != exitFailed {
		t.Errorf("exit %d", code)
	}
}

func TestTagsThatAreNone(t *testing.T) {
	t.Setenv("BOOST_RUNS", t.TempDir())
	if r := try(t, "tag", "k3fz", "a b"); r.code != exitUsage || !strings.Contains(r.err, "cannot be a tag") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}
