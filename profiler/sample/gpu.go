package sample

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"boost-tui/profiler/record"
)

// GPU is one card. Calls come from one goroutine at a time.
type GPU interface {
	// Describe is what does not change.
	Describe() Description
	// Read fills in what the card can tell of now; the rest of the line stays unknown.
	Read(*record.HealthLine)
	// PIDs are the processes that compute on it; nil where that is not known.
	PIDs() []int
}

// Description of a GPU. Unknown values are "" and 0.
type Description struct {
	Index         int
	Name          string
	UUID          string
	PCIBusID      string
	MemTotalBytes int64
}

// GPUs are the cards of a host.
type GPUs interface {
	List() []GPU
	Close() error
}

// Reasons why a GPU holds its clocks down: bits of HealthLine.Reasons, as NVML numbers them.
const (
	SwPowerCap   = 4
	HwSlowdown   = 8
	SyncBoost    = 16
	SwThermal    = 32
	HwThermal    = 64
	HwPowerBrake = 128
)

// gpuWorkers has one goroutine per card, so that a driver that hangs holds up nothing else.
type gpuWorkers struct {
	gpus    GPUs
	workers []*gpuWorker
	wg      sync.WaitGroup
}

type gpuWorker struct {
	ask    chan time.Time
	answer chan record.HealthLine
	busy   bool
}

func startGPUs(gpus GPUs, ranks []Rank) *gpuWorkers {
	w := &gpuWorkers{gpus: gpus}
	for _, g := range gpus.List() {
		k := &gpuWorker{ask: make(chan time.Time, 1), answer: make(chan record.HealthLine, 1)}
		w.workers = append(w.workers, k)
		w.wg.Add(1)
		go func() {
			defer w.wg.Done()
			for at := range k.ask {
				k.answer <- readGPU(g, at, ranks)
			}
		}()
	}
	return w
}

// readGPU survives whatever the driver's binding does.
func readGPU(g GPU, at time.Time, ranks []Rank) (l record.HealthLine) {
	l = record.NewHealthLine(record.KindGPU, at.UnixNano())
	defer func() { _ = recover() }()
	l.Device = int64(g.Describe().Index)
	if r := rankOn(g, ranks); r != nil {
		l.Rank = int64(r.Rank)
	}
	g.Read(&l)
	return l
}

// rankOn is the rank that computes on a card: by the processes that the driver names, and where it names none of ours, as inside
// a container, by the card that the rank was given; nil: none is known.
func rankOn(g GPU, ranks []Rank) *Rank {
	for _, pid := range g.PIDs() {
		for i := range ranks {
			if ranks[i].PID == pid {
				return &ranks[i]
			}
		}
	}
	about := g.Describe()
	for i := range ranks {
		if ranks[i].on(about) {
			return &ranks[i]
		}
	}
	return nil
}

// on reports whether the rank was given the card.
func (r *Rank) on(d Description) bool {
	if strings.HasPrefix(r.Card, "GPU-") {
		return strings.HasPrefix(d.UUID, r.Card)
	}
	n, err := strconv.Atoi(r.Card)
	return err == nil && n == d.Index
}

func (w *gpuWorkers) sample(ctx context.Context, now time.Time) []record.HealthLine {
	for _, k := range w.workers {
		if k.busy { // an answer to an earlier question is too old to be of use
			select {
			case <-k.answer:
				k.busy = false
			default:
				continue
			}
		}
		k.ask <- now
		k.busy = true
	}
	var lines []record.HealthLine
	for _, k := range w.workers {
		if l, ok := k.wait(ctx); ok && l.TSNanos == now.UnixNano() {
			lines = append(lines, l)
		}
	}
	return lines
}

// wait takes the answer, also one that is there although the context has ended meanwhile.
func (k *gpuWorker) wait(ctx context.Context) (record.HealthLine, bool) {
	select {
	case l := <-k.answer:
		k.busy = false
		return l, true
	case <-ctx.Done():
	}
	select {
	case l := <-k.answer:
		k.busy = false
		return l, true
	default:
		return record.HealthLine{}, false
	}
}

func (w *gpuWorkers) close(ctx context.Context) error {
	for _, k := range w.workers {
		close(k.ask)
	}
	done := make(chan struct{})
	go func() {
		w.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return w.gpus.Close()
	case <-ctx.Done():
		return fmt.Errorf("a GPU's driver does not answer: %w", ctx.Err())
	}
}

// Simulator is a host with GPUs that are not there: their telemetry follows from the time alone.
// Tests use it; every third card lacks what older cards lack.
type Simulator struct {
	cards []GPU
}

// NewSimulator makes n cards. now is their clock.
func NewSimulator(n int, now func() time.Time) *Simulator {
	s := &Simulator{}
	for i := range n {
		s.cards = append(s.cards, &simulated{index: i, now: now, born: now()})
	}
	return s
}

// List implements GPUs.
func (s *Simulator) List() []GPU { return s.cards }

// Close implements GPUs.
func (s *Simulator) Close() error { return nil }

type simulated struct {
	index int
	now   func() time.Time
	born  time.Time
}

const simulatedMem = 80 << 30

// Describe implements GPU.
func (g *simulated) Describe() Description {
	return Description{Index: g.index, Name: "simulated GPU", UUID: fmt.Sprintf("GPU-00000000-0000-0000-0000-%012d", g.index),
		PCIBusID: fmt.Sprintf("0000:%02x:00.0", g.index+1), MemTotalBytes: simulatedMem}
}

// PIDs implements GPU.
func (g *simulated) PIDs() []int { return nil }

// Read implements GPU. A load that swings between 60 and 100 % over a minute drives the rest.
func (g *simulated) Read(l *record.HealthLine) {
	age := g.now().Sub(g.born).Seconds()
	load := 0.8 + 0.2*math.Sin(2*math.Pi*age/60+float64(g.index))
	watts := 100 + 500*load
	l.GPUPercent, l.MemPercent = math.Round(100*load), math.Round(60*load)
	l.MemUsedBytes = simulatedMem / 4 * 3
	l.PowerMilliW, l.EnergyMilliJ = int64(1000*watts), int64(1000*500*age)
	l.SMMHz, l.MemMHz, l.TempC = 1980, 2619, int64(30+45*load)
	l.Reasons = 0
	if load > 0.95 {
		l.SMMHz, l.Reasons = 1755, SwPowerCap
	}
	l.PCIeTxKBs, l.PCIeRxKBs, l.ECCCorrected, l.ECCFatal = 1000, 2000, 0, 0
	if g.index%3 == 2 {
		return
	}
	l.NVLinkTxBytes, l.NVLinkRxBytes = int64(age*1e9), int64(age*1e9)
	l.TensorPercent, l.DRAMPercent = 50*load, 40*load
}
