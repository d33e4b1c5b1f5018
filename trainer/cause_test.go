package trainer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"boost-tui/kernels"
)

func TestRecordsNameTheCulprit(t *testing.T) {
	c := &cause{Rank: 1, Step: 7, Operation: "forward.l3.attn.in/qkv.A", Text: "out of\nmemory\x1b[2J"}
	b, err := c.encode()
	if err != nil {
		t.Fatal(err)
	}
	c, err = parseCause(b)
	if err != nil {
		t.Fatal(err)
	}
	own := recordOf(1, 7, "", c)
	if own.Secondary || own.Code != ExitFailed || own.Cause != "out of memory[2J" || own.Operation != c.Operation {
		t.Errorf("the culprit's own: %+v", own)
	}
	other := recordOf(0, 8, "here", c)
	if !other.Secondary || other.Step != 8 || other.Operation != "here" || other.Cause != "rank 1 failed at step 7 in forward.l3.attn.in/qkv.A: out of memory[2J" {
		t.Errorf("another's: %+v", other)
	}
	agent := recordOf(0, 8, "", &cause{Rank: nobody, Text: "the agent died"})
	if !agent.Secondary || agent.Cause != "the agent died" {
		t.Errorf("the agent's death: %+v", agent)
	}
	if _, err := parseCause([]byte("{")); err == nil {
		t.Error("half a cause is one")
	}
	long := &cause{Text: strings.Repeat("é", maxCauseText)}
	if b, _ := long.encode(); len(b) > maxCauseText+200 {
		t.Errorf("a cause of %d bytes", len(b))
	}
}

func TestSymptom(t *testing.T) {
	for err, want := range map[error]bool{
		fmt.Errorf("step 3: %w", &kernels.Error{Err: kernels.ErrComm}):    true,
		fmt.Errorf("step 3: %w", &kernels.Error{Err: kernels.ErrAborted}): true,
		context.Canceled: true,
		fmt.Errorf("step 3: %w", &kernels.Error{Err: kernels.ErrNotFinite}): false,
		errors.New("data: t.txt is empty"):                                  false,
	} {
		if symptom(err) != want {
			t.Errorf("%v: %v", err, !want)
		}
	}
	err := fmt.Errorf("x: %w", &kernels.Error{Op: "gemm", Label: kernels.Label{Phase: kernels.Forward, Layer: 2, Chunk: "mlp.in", Op: "up.A"}})
	if op := operationOf(err); op != "forward.l2.mlp.in/up.A" {
		t.Errorf("operation %q", op)
	}
	if op := operationOf(&kernels.Error{Op: "gemm"}); op != "gemm" {
		t.Errorf("operation %q", op)
	}
	if !errors.Is(ErrCancelled, context.Canceled) {
		t.Error("a cancelled run is not context.Canceled")
	}
}

func FuzzParseCause(f *testing.F) {
	good, err := (&cause{Rank: 1, Step: 2, Operation: "x", Text: "y"}).encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"text":"a\u001b[2J\u0000"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := parseCause(b)
		if err != nil {
			return
		}
		if s := c.describe(); strings.ContainsAny(s, "\x1b\n\x00") {
			t.Errorf("%q steers a terminal", s)
		}
		if _, err := c.encode(); err != nil {
			t.Error(err)
		}
	})
}
