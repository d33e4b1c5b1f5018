package record

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"boost-tui/kernels"
)

func someSpans(step int) []Span {
	at := int64(1764430000000000000 + step*1000000)
	return []Span{
		{StartNanos: at + 50, DurNanos: 900, Op: "gemm", FLOPs: 1 << 40, WaitNanos: Unknown,
			Label: kernels.Label{Phase: kernels.Forward, Layer: 3, Micro: 1, Chunk: "attn.in", Op: "qkv.A"}},
		{StartNanos: at, DurNanos: 0, Op: "upload", Class: kernels.Memory, Bytes: 77, WaitNanos: Unknown,
			Label: kernels.Label{Phase: kernels.Data, Layer: -1, Chunk: "data", Op: "tokens"}},
		{StartNanos: at + 960, DurNanos: 400, Op: "all-reduce", Class: kernels.Communication, Stream: 1, Bytes: 4096, Seq: 41 + step,
			Group: "tp", WaitNanos: 120, Label: kernels.Label{Phase: kernels.Backward, Layer: 0, Chunk: "attn.in", Op: "qkv"}},
	}
}

func readTimeline(t testing.TB, path string) (steps []int, spans []Span) {
	t.Helper()
	r := must(OpenTimeline(path))(t)
	defer r.Close()
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return steps, spans
		}
		check(t, err)
		steps, spans = append(steps, b.Step), append(spans, b.Spans...)
	}
}

func TestTimelineReadsBackAndContinues(t *testing.T) {
	path := TimelinePath(t.TempDir(), 5)
	for i := range 3 {
		w := must(OpenTimelineWriter(path, 5, -12))(t)
		check(t, w.Write(i, someSpans(i)))
		check(t, w.Close())
	}
	steps, spans := readTimeline(t, path)
	want := slices.Concat(someSpans(0), someSpans(1), someSpans(2))
	if !slices.Equal(steps, []int{0, 1, 2}) || !slices.Equal(spans, want) {
		t.Errorf("steps %v\ngot  %+v\nwant %+v", steps, spans, want)
	}
	r := must(OpenTimeline(path))(t)
	defer r.Close()
	if r.Rank != 5 || r.ClockOffset != -12 {
		t.Errorf("rank %d, offset %d", r.Rank, r.ClockOffset)
	}
}

// Cut at every byte, a timeline gives the whole blocks before the cut, and can be continued.
func TestTimelineDropsATornBlock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.btl")
	w := must(OpenTimelineWriter(path, 0, 0))(t)
	check(t, w.Write(1, someSpans(1)))
	whole := w.off
	check(t, w.Write(2, someSpans(2)))
	check(t, w.f.Close())
	data := must(os.ReadFile(path))(t)
	for cut := whole; cut < int64(len(data)); cut++ {
		check(t, os.WriteFile(path, data[:cut], 0o644))
		if steps, spans := readTimeline(t, path); !slices.Equal(steps, []int{1}) || !slices.Equal(spans, someSpans(1)) {
			t.Fatalf("cut at %d: steps %v", cut, steps)
		}
	}
	w = must(OpenTimelineWriter(path, 0, 0))(t)
	check(t, w.Write(3, someSpans(3)))
	check(t, w.Close())
	if steps, _ := readTimeline(t, path); !slices.Equal(steps, []int{1, 3}) {
		t.Errorf("continued: steps %v", steps)
	}
}

func TestTimelineOfANewerVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.btl")
	check(t, must(OpenTimelineWriter(path, 0, 0))(t).Close())
	data := must(os.ReadFile(path))(t)
	data[8] = 9
	check(t, os.WriteFile(path, data, 0o644))
	if _, err := OpenTimeline(path); !errors.Is(err, ErrNewerSchema) {
		t.Errorf("got %v", err)
	}
	if _, err := OpenTimelineWriter(path, 0, 0); !errors.Is(err, ErrNewerSchema) {
		t.Errorf("writing: got %v", err)
	}
}

func FuzzTimeline(f *testing.F) {
	path := filepath.Join(f.TempDir(), "t.btl")
	w := must(OpenTimelineWriter(path, 0, 0))(f)
	check(f, w.Write(1, someSpans(1)))
	check(f, w.Close())
	f.Add(must(os.ReadFile(path))(f), false)
	f.Add(must(os.ReadFile(path))(f)[:btlHeader+40], true)
	f.Fuzz(func(t *testing.T, data []byte, fix bool) {
		if fix && len(data) > btlHeader+btlBlock { // get past the checksum of the first block
			seal(data[btlHeader:], namesStep-1, 5, int(data[btlHeader]))
		}
		r, err := newTimeline(bytes.NewReader(data), "fuzz")
		for err == nil {
			_, err = r.Next()
		}
	})
}

func BenchmarkTimelineWrite(b *testing.B) {
	w := must(OpenTimelineWriter(filepath.Join(b.TempDir(), "t.btl"), 0, 0))(b)
	var spans []Span
	for i := range 1000 {
		spans = append(spans, someSpans(i)...)
	}
	b.ReportAllocs()
	for b.Loop() {
		w.off = btlHeader
		check(b, w.Write(1, spans))
	}
	b.ReportMetric(float64(w.off)/float64(len(spans)), "B/span")
}
