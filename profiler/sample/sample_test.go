package sample

import (
	"context"
	"math"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"boost-tui/profiler/record"
)

func linesOf(lines []record.HealthLine, kind string) (out []record.HealthLine) {
	for _, l := range lines {
		if l.Kind == kind {
			out = append(out, l)
		}
	}
	return out
}

func cpuUsed(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestSampleOfThisProcessAndHost(t *testing.T) {
	ctx := context.Background()
	s := New(Options{Ranks: []Rank{{Rank: 3, PID: os.Getpid()}, {Rank: 4, PID: 1 << 30}}, Dir: t.TempDir()})
	first := s.Sample(ctx)
	for used := cpuUsed(t); cpuUsed(t)-used < 60*time.Millisecond; {
	}
	second := s.Sample(ctx)
	if cpu := linesOf(first, record.KindCPU); len(cpu) != 1 || !math.IsNaN(cpu[0].CPUPercent) {
		t.Errorf("first: %+v", cpu)
	}
	cpu, host := linesOf(second, record.KindCPU), linesOf(second, record.KindHost)
	if len(cpu) != 1 || len(host) != 1 {
		t.Fatalf("%d lines of ranks, %d of hosts", len(cpu), len(host))
	}
	c, h := cpu[0], host[0]
	if c.Rank != 3 || !(c.CPUPercent > 0) || c.RSSBytes < 1<<20 || c.Threads < 1 || c.VoluntarySwitch < 0 || c.PID != int64(os.Getpid()) {
		t.Errorf("rank: %s", c.Append(nil))
	}
	if h.MemUsedBytes <= 0 || h.DiskFreeBytes <= 0 || !(h.CPUPercent >= 0 && h.CPUPercent <= 100) {
		t.Errorf("host: %s", h.Append(nil))
	}
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
}

func TestAProcessThatEndedHasNoLine(t *testing.T) {
	c := exec.Command("sleep", "60")
	if err := c.Start(); err != nil {
		t.Skip(err)
	}
	s := New(Options{Ranks: []Rank{{PID: c.Process.Pid}}})
	if n := len(linesOf(s.Sample(context.Background()), record.KindCPU)); n != 1 {
		t.Errorf("%d lines while it lives", n)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // killed
	if n := len(linesOf(s.Sample(context.Background()), record.KindCPU)); n != 0 {
		t.Errorf("%d lines after its end", n)
	}
}

func TestSimulatedGPUs(t *testing.T) {
	now := time.Unix(1764430000, 0)
	s := New(Options{GPUs: NewSimulator(3, func() time.Time { return now })})
	now = now.Add(10 * time.Second)
	gpu := linesOf(s.Sample(context.Background()), record.KindGPU)
	if len(gpu) != 3 {
		t.Fatalf("%d lines", len(gpu))
	}
	for i, g := range gpu {
		if g.Device != int64(i) || g.PowerMilliW < 300_000 || g.GPUPercent < 60 || g.Rank != record.Unknown {
			t.Errorf("%s", g.Append(nil))
		}
	}
	if gpu[0].NVLinkTxBytes != 10e9 || gpu[2].NVLinkTxBytes != record.Unknown {
		t.Errorf("NVLink: %d, %d", gpu[0].NVLinkTxBytes, gpu[2].NVLinkTxBytes)
	}
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// Whose a card is follows from the processes that the driver names, else from what the ranks were given.
func TestRankOfACard(t *testing.T) {
	const uuid = "GPU-00000000-0000-0000-0000-000000000001" // of the simulated card 1
	for name, c := range map[string]struct {
		ranks []Rank
		want  [3]int64 // rank of each card
	}{
		"by number":  {[]Rank{{Rank: 4, PID: 1, Card: "0"}, {Rank: 5, PID: 2, Card: "2"}}, [3]int64{4, record.Unknown, 5}},
		"by UUID":    {[]Rank{{Rank: 4, PID: 1, Card: uuid}, {Rank: 5, PID: 2, Card: uuid[:len(uuid)-1] + "2"}}, [3]int64{record.Unknown, 4, 5}},
		"shared":     {[]Rank{{Rank: 4, PID: 1, Card: "1"}, {Rank: 5, PID: 2, Card: "1"}}, [3]int64{record.Unknown, 4, record.Unknown}},
		"MIG, cpu":   {[]Rank{{Rank: 4, PID: 1, Card: "MIG-1"}, {Rank: 5, PID: 2}}, [3]int64{record.Unknown, record.Unknown, record.Unknown}},
		"by process": {[]Rank{{Rank: 4, PID: 1, Card: "0"}, {Rank: 5, PID: 42, Card: "1"}}, [3]int64{5, 5, 5}},
	} {
		var gpus GPUs = NewSimulator(3, time.Now)
		if name == "by process" {
			gpus = busy{}
		}
		for _, l := range linesOf(New(Options{GPUs: gpus, Ranks: c.ranks}).Sample(t.Context()), record.KindGPU) {
			if l.Rank != c.want[l.Device] {
				t.Errorf("%s: card %d is of rank %d, want %d", name, l.Device, l.Rank, c.want[l.Device])
			}
		}
	}
}

// busy is three cards that process 42 computes on.
type busy struct{}

func (busy) List() []GPU  { return []GPU{busyCard(0), busyCard(1), busyCard(2)} }
func (busy) Close() error { return nil }

type busyCard int

func (c busyCard) Describe() Description { return Description{Index: int(c)} }
func (busyCard) PIDs() []int             { return []int{7, 42} }
func (busyCard) Read(*record.HealthLine) {}

// sick is a driver that hangs on one card and panics on another.
type sick struct{ hang chan struct{} }

func (s *sick) List() []GPU  { return []GPU{&sickCard{0, s.hang}, &sickCard{1, nil}} }
func (s *sick) Close() error { return nil }

type sickCard struct {
	index int
	hang  chan struct{}
}

func (c *sickCard) Describe() Description { return Description{Index: c.index} }
func (c *sickCard) PIDs() []int           { return []int{42} }
func (c *sickCard) Read(l *record.HealthLine) {
	if c.hang != nil {
		<-c.hang
		return
	}
	panic("method is nil")
}

func TestASickDriverHoldsUpNothing(t *testing.T) {
	hang := make(chan struct{})
	s := New(Options{GPUs: &sick{hang}, Ranks: []Rank{{Rank: 7, PID: 42}}})
	for range 3 {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		gpu := linesOf(s.Sample(ctx), record.KindGPU)
		cancel()
		if len(gpu) != 1 || gpu[0].Device != 1 || gpu[0].Rank != 7 {
			t.Fatalf("%+v", gpu)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := s.Close(ctx); err == nil {
		t.Error("closed although a call hangs")
	}
	close(hang)
}

func TestWriteAppendsLines(t *testing.T) {
	path := record.HealthPath(t.TempDir(), "node/../1")
	w, err := record.OpenWriter(path)
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Ranks: []Rank{{Rank: 0, PID: os.Getpid()}}})
	if err := s.Write(context.Background(), w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if lines, err := record.LastHealth(path, 1<<20); err != nil || len(lines) != 2 {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}
