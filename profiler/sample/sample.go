// Package sample reads what the machine does while a run goes on: its ranks' processes and its host
// through gopsutil, its GPUs through an interface that package nvml implements where there is a
// driver, and Simulator where there is none. Whatever cannot be read stays unknown.
//
// Start reading at New.
package sample

import (
	"context"
	"time"

	"github.com/shirou/gopsutil/v3/cpu"
	"github.com/shirou/gopsutil/v3/disk"
	"github.com/shirou/gopsutil/v3/mem"
	"github.com/shirou/gopsutil/v3/net"
	"github.com/shirou/gopsutil/v3/process"

	"boost-tui/internal/wallclock"
	"boost-tui/profiler/record"
)

// Rank is a rank's process on this host.
type Rank struct {
	Rank, PID int
	// Card is the GPU that it computes on as CUDA_VISIBLE_DEVICES names cards: a number, or the beginning of a UUID; "": none, or not known.
	Card string
}

// Options of New.
type Options struct {
	Ranks []Rank
	Dir   string // whose file system's free space is reported; "": none
	GPUs  GPUs   // nil: none. New takes it over, Close closes it
}

// Sampler takes samples of one host. Sample and Close are called from one goroutine.
type Sampler struct {
	dir      string
	ranks    []*rankProcess
	gpus     *gpuWorkers
	on       []Rank // as they were told
	lastCPU  cpu.TimesStat
	haveLast bool
}

// rankProcess is a process and what it had used at the last sample.
type rankProcess struct {
	Rank
	p    *process.Process
	born int64 // creation time: tells a reused process id
	used float64
	at   time.Time
}

// New prepares to sample. A rank that is already gone has no lines.
func New(o Options) *Sampler {
	s := &Sampler{dir: o.Dir}
	for _, r := range o.Ranks {
		p := &process.Process{Pid: int32(r.PID)}
		if born, err := p.CreateTime(); err == nil {
			s.ranks = append(s.ranks, &rankProcess{Rank: r, p: p, born: born})
		}
	}
	s.on = o.Ranks
	if o.GPUs != nil {
		s.Take(o.GPUs)
	}
	return s
}

// Take has GPUs sampled that were not there when the sampler was made without any; Close closes them.
func (s *Sampler) Take(gpus GPUs) { s.gpus = startGPUs(gpus, s.on) }

// Sample takes one sample of everything: a line for the host, one for each rank's process, one for
// each GPU. Shares of time are since the previous sample; the first has none. A GPU whose driver
// does not answer before the context ends has no line, and is not asked again until it has answered.
func (s *Sampler) Sample(ctx context.Context) []record.HealthLine {
	now := wallclock.Now()
	lines := []record.HealthLine{s.host(ctx, now)}
	for _, r := range s.ranks {
		if l, ok := r.sample(ctx, now); ok {
			lines = append(lines, l)
		}
	}
	if s.gpus != nil {
		lines = append(lines, s.gpus.sample(ctx, now)...)
	}
	return lines
}

// Close ends the sampling of GPUs. It waits for calls into the driver until the context ends.
func (s *Sampler) Close(ctx context.Context) error {
	if s.gpus == nil {
		return nil
	}
	return s.gpus.close(ctx)
}

// Write takes a sample and appends its lines to a health file. It returns the first error, after it tried every line.
func (s *Sampler) Write(ctx context.Context, w *record.Writer) error {
	var first error
	for _, l := range s.Sample(ctx) {
		if err := w.Health(&l); first == nil {
			first = err
		}
	}
	return first
}

func (s *Sampler) host(ctx context.Context, now time.Time) record.HealthLine {
	l := record.NewHealthLine(record.KindHost, now.UnixNano())
	if t, err := cpu.TimesWithContext(ctx, false); err == nil && len(t) == 1 {
		if s.haveLast {
			total, idle := allTime(t[0])-allTime(s.lastCPU), (t[0].Idle+t[0].Iowait)-(s.lastCPU.Idle+s.lastCPU.Iowait)
			if total > 0 {
				l.CPUPercent = max(0, min(100, 100*(total-idle)/total))
			}
		}
		s.lastCPU, s.haveLast = t[0], true
	}
	if m, err := mem.VirtualMemoryWithContext(ctx); err == nil {
		l.MemUsedBytes = int64(m.Used)
	}
	if n, err := net.IOCountersWithContext(ctx, false); err == nil && len(n) == 1 {
		l.NetRxBytes, l.NetTxBytes = int64(n[0].BytesRecv), int64(n[0].BytesSent)
	}
	if s.dir != "" {
		if d, err := disk.UsageWithContext(ctx, s.dir); err == nil {
			l.DiskFreeBytes = int64(d.Free)
		}
	}
	return l
}

// allTime is the seconds of all cores; a guest's are within the user's.
func allTime(t cpu.TimesStat) float64 {
	return t.User + t.System + t.Idle + t.Nice + t.Iowait + t.Irq + t.Softirq + t.Steal
}

// sample is false once the process is gone.
func (r *rankProcess) sample(ctx context.Context, now time.Time) (record.HealthLine, bool) {
	l := record.NewHealthLine(record.KindCPU, now.UnixNano())
	l.Rank, l.PID = int64(r.Rank.Rank), int64(r.PID)
	// A handle of its own each time: gopsutil's remembers the creation time.
	if born, err := (&process.Process{Pid: int32(r.PID)}).CreateTimeWithContext(ctx); err != nil || born != r.born {
		return l, false
	}
	t, err := r.p.TimesWithContext(ctx)
	if err != nil {
		return l, false
	}
	used := t.User + t.System
	if dt := now.Sub(r.at).Seconds(); !r.at.IsZero() && dt > 0 {
		l.CPUPercent = max(0, 100*(used-r.used)/dt)
	}
	r.used, r.at = used, now
	if m, err := r.p.MemoryInfoWithContext(ctx); err == nil {
		l.RSSBytes = int64(m.RSS)
	}
	if n, err := r.p.NumThreadsWithContext(ctx); err == nil {
		l.Threads = int64(n)
	}
	if c, err := r.p.NumCtxSwitchesWithContext(ctx); err == nil {
		l.VoluntarySwitch, l.ForcedSwitch = c.Voluntary, c.Involuntary
	}
	return l, true
}
