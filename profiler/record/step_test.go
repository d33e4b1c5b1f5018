package record

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sameStep compares lines; NaN equals NaN.
func sameStep(a, b StepLine) bool {
	for i, p := range a.floats() {
		q := b.floats()[i]
		if *p != *q && !(math.IsNaN(*p) && math.IsNaN(*q)) {
			return false
		}
		*p, *q = 0, 0
	}
	return a == b
}

func fullStep(step int) StepLine {
	l := NewStepLine(step)
	for i, p := range l.ints() {
		*p = int64(1000003*(i+1) + step)
	}
	l.Step, l.TSNanos = int64(step), 1764430000000000000+int64(step)*50_000_000
	l.WallNanos = 50_000_000 + int64(step%7)*100_000
	l.Loss, l.GradNorm, l.LR = 2.5+1/float64(step+1), 0.73, 3e-5
	l.Flags = Warmup | Deep
	return l
}

func TestStepLineReadsBackWhatItWrote(t *testing.T) {
	partial := NewStepLine(7)
	partial.WallNanos, partial.Loss = 0, 1e-9
	for name, l := range map[string]StepLine{"full": fullStep(12), "only the step": NewStepLine(0), "zero is not unknown": partial} {
		line := l.Append(nil)
		if !json.Valid(line) {
			t.Errorf("%s: not JSON: %s", name, line)
		}
		var got StepLine
		if err := got.Decode(line); err != nil || !sameStep(got, l) {
			t.Errorf("%s: %s read as %+v, %v", name, line, got, err)
		}
	}
}

func TestStepLineGolden(t *testing.T) {
	l := NewStepLine(3)
	l.TSNanos, l.WallNanos, l.Loss, l.Flags = 17, 5, 2.5, Warmup|Eval
	want := `{"t":"step","step":3,"ts_ns":17,"wall_ns":5,"loss":2.5,"flags":["warmup","eval"]}`
	if got := string(l.Append(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	l.Loss = math.Inf(1)
	if got := string(l.Append(nil)); strings.Contains(got, "loss") {
		t.Errorf("an infinite loss was written: %s", got)
	}
}

func TestStepLineDecodeIsTolerant(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		want func(*StepLine)
	}{
		"unknown members":  {`{"t":"step","x":{"a":[1,"}"]},"step":4,"y":"q\"","wall_ns":9,"z":[{}]}`, func(l *StepLine) { l.WallNanos = 9 }},
		"any order":        {`{"wall_ns":9,"loss":1.5,"step":4,"t":"step"}`, func(l *StepLine) { l.WallNanos, l.Loss = 9, 1.5 }},
		"spaces":           {` { "t" : "step" , "step" : 4 , "wall_ns" : 9 } `, func(l *StepLine) { l.WallNanos = 9 }},
		"wrong types":      {`{"t":"step","step":4,"wall_ns":"9","loss":"NaN","data_ns":null}`, func(*StepLine) {}},
		"float for an int": {`{"t":"step","step":4,"wall_ns":9.4e0}`, func(l *StepLine) { l.WallNanos = 9 }},
		"unknown flag":     {`{"t":"step","step":4,"flags":["new","eval"]}`, func(l *StepLine) { l.Flags = Eval }},
		"own schema":       {`{"t":"step","schema":1,"step":4}`, func(*StepLine) {}},
	} {
		want := NewStepLine(4)
		c.want(&want)
		var got StepLine
		if err := got.Decode([]byte(c.line)); err != nil || !sameStep(got, want) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	for _, bad := range []string{"", "{", `{"t":"step"}`, `{"t":"gpu","step":1}`, `{"step":1}`, `{"t":"step","step":1`, `{"t":"step","step":1}x`,
		`{"t":"step","step":-2}`, `[]`, `{"t":"step","step":`, `{"t":"step","step":1,"flags":["a}`} {
		var l StepLine
		if err := l.Decode([]byte(bad)); err == nil {
			t.Errorf("%q was accepted as %+v", bad, l)
		}
	}
	var l StepLine
	if err := l.Decode([]byte(`{"t":"step","schema":2,"step":1}`)); !errors.Is(err, ErrNewerSchema) {
		t.Errorf("schema 2: %v", err)
	}
}

func TestHealthAndEventLinesReadBack(t *testing.T) {
	h := NewHealthLine(KindCPU, 99)
	h.Rank, h.CPUPercent, h.RSSBytes = 1, 97.5, 1<<30
	var got HealthLine
	if err := got.Decode(h.Append(nil)); err != nil || got.Rank != 1 || got.CPUPercent != 97.5 || got.RSSBytes != 1<<30 ||
		got.TempC != Unknown || !math.IsNaN(got.GPUPercent) {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := got.Decode([]byte(`{"t":"step","step":1}`)); err == nil {
		t.Error("a step line is no health line")
	}
	rank := 3
	e := EventLine{Kind: EventAlert, TSNanos: 5, Rank: &rank, Code: "rank_died", Msg: "signal \"9\"", Data: map[string]any{"step": 4.0}}
	b, err := e.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	var back EventLine
	if err := back.Decode(b); err != nil || back.Code != e.Code || *back.Rank != 3 || back.Data["step"] != 4.0 || back.Msg != e.Msg {
		t.Errorf("got %+v, %v", back, err)
	}
	if err := back.Decode([]byte(`{"t":"note","schema":9}`)); !errors.Is(err, ErrNewerSchema) {
		t.Errorf("schema 9: %v", err)
	}
}

func TestWriterClosesOffATornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "steps", "r00000.jsonl")
	w := must(OpenWriter(path))(t)
	a, b := fullStep(1), fullStep(2)
	check(t, w.Step(&a))
	check(t, w.Close())
	f := must(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))(t)
	must(f.WriteString(`{"t":"step","step":2,"wa`))(t)
	check(t, f.Close())
	w = must(OpenWriter(path))(t)
	check(t, w.Step(&b))
	check(t, w.Close())
	lines := must(LastSteps(path, 10))(t)
	if len(lines) != 2 || !sameStep(lines[0], fullStep(1)) || !sameStep(lines[1], fullStep(2)) {
		t.Errorf("got %d lines: %+v", len(lines), lines)
	}
}

func TestWriterSaysWhichFileTheDiskHadNoRoomFor(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full")
	}
	w := &Writer{path: "runs/x/steps/r00001.jsonl", f: full}
	l := fullStep(1)
	err = w.Step(&l)
	if err == nil || !strings.Contains(err.Error(), "runs/x/steps/r00001.jsonl") || !strings.Contains(err.Error(), "free some space") {
		t.Errorf("got %v", err)
	}
	check(t, w.Close())
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// must makes a test fail where a call has an error.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		check(t, err)
		return v
	}
}

func FuzzStepLine(f *testing.F) {
	l := fullStep(5)
	f.Add(l.Append(nil))
	f.Add([]byte(`{"t":"step","x":{"a":[1,"}"]},"step":4,"flags":["eval"]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var a, b StepLine
		if a.Decode(line) != nil {
			return
		}
		if err := b.Decode(a.Append(nil)); err != nil || !sameStep(a, b) {
			t.Errorf("%q: %+v then %+v, %v", line, a, b, err)
		}
	})
}

func FuzzHealthLine(f *testing.F) {
	l := NewHealthLine(KindGPU, 4)
	f.Add(l.Append(nil))
	f.Fuzz(func(t *testing.T, line []byte) {
		var a, b HealthLine
		if a.Decode(line) == nil {
			if err := b.Decode(a.Append(nil)); err != nil {
				t.Errorf("%q: %v", line, err)
			}
		}
	})
}

func FuzzEventLine(f *testing.F) {
	f.Add([]byte(`{"t":"note","ts_ns":1,"code":"x","data":{"a":1}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var a, b EventLine
		if a.Decode(line) == nil {
			out, err := a.Append(nil)
			if err == nil {
				err = b.Decode(out)
			}
			if err != nil {
				t.Errorf("%q: %v", line, err)
			}
		}
	})
}

func BenchmarkStepEncode(b *testing.B) {
	l, buf := fullStep(123456), []byte(nil)
	b.ReportAllocs()
	for b.Loop() {
		buf = l.Append(buf[:0])
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkStepDecode(b *testing.B) {
	l := fullStep(123456)
	line := l.Append(nil)
	var got StepLine
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if err := got.Decode(line); err != nil {
			b.Fatal(err)
		}
	}
}
