package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"boost-tui/internal/regular"
	"boost-tui/profiler/record"
	"boost-tui/profiler/sample"
	"boost-tui/runner/protocol"
)

// meterEvery is the period of heartbeats and samples.
const meterEvery = time.Second

// meter beats the run's heart, samples its ranks and host and keeps its rollup, once a second in a
// goroutine of its own: a file system that hangs must not keep the agent from ending ranks.
type meter struct {
	dir     string
	rollup  *record.RollupWriter
	health  *record.Writer
	sampler *sample.Sampler
	late    chan sample.GPUs // cards that came after the start
	beats   int
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	err     error // first failure; read after wg
}

// startMeter begins to measure the ranks of this host, to beat the run's heart, and to put the steps of the ranks that are
// rolled up together; nil: another agent does both. The cards may be nil.
func startMeter(dir, host string, crew []sample.Rank, rolled []int, cards sample.GPUs) (*meter, error) {
	m := &meter{dir: dir, late: make(chan sample.GPUs, 1)}
	var err error
	if rolled != nil {
		if m.rollup, err = record.OpenRollupWriter(dir, rolled); err != nil {
			return nil, fmt.Errorf("measure the run: %w", err)
		}
	}
	if m.health, err = record.OpenWriter(record.HealthPath(dir, host)); err != nil {
		err = fmt.Errorf("measure the run: %w", err)
		if m.rollup != nil {
			err = errors.Join(err, m.rollup.Close())
		}
		return nil, err
	}
	m.sampler = sample.New(sample.Options{Ranks: crew, Dir: dir, GPUs: cards})
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	m.sample(ctx) // shares of time count from here; and the shortest run has one sample
	m.wg.Add(1)
	go func() {
		defer m.wg.Done()
		m.loop(ctx)
	}()
	return m, nil
}

func (m *meter) loop(ctx context.Context) {
	tick := time.NewTicker(meterEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case cards := <-m.late:
			m.sampler.Take(cards)
			m.sample(ctx)
		case <-tick.C:
			if m.rollup != nil {
				m.beats++
				m.keep(beat(m.dir, m.beats))
			}
			m.sample(ctx)
			if m.rollup != nil {
				_, err := m.rollup.Poll(ctx)
				m.keep(err)
			}
		}
	}
}

// sample writes one line for the host, for each rank and each card.
func (m *meter) sample(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, meterEvery/2)
	defer cancel()
	m.keep(m.sampler.Write(ctx, m.health))
}

// keep remembers the first failure. Measuring goes on: the disk may have room again.
func (m *meter) keep(err error) {
	if m.err == nil && err != nil && !errors.Is(err, context.Canceled) {
		m.err = err
	}
}

// stop ends the measuring, after what the ranks wrote last, and says what went wrong first.
func (m *meter) stop() error {
	m.cancel()
	m.wg.Wait()
	select {
	case cards := <-m.late:
		m.sampler.Take(cards)
	default:
	}
	if m.rollup != nil {
		_, err := m.rollup.Poll(context.Background())
		m.keep(err)
		m.keep(m.rollup.Close())
	}
	m.keep(m.health.Close())
	ctx, cancel := context.WithTimeout(context.Background(), meterEvery)
	defer cancel()
	m.keep(m.sampler.Close(ctx)) // a driver that hangs is left to its fate
	return m.err
}

// completeRollup adds the steps that a rollup lacks whose agent is gone.
func completeRollup(dir string, world int) error {
	ranks := make([]int, world)
	for i := range ranks {
		ranks[i] = i
	}
	w, err := record.OpenRollupWriter(dir, ranks)
	if err != nil {
		return err
	}
	_, err = w.Poll(context.Background())
	return errors.Join(err, w.Close())
}

// beat gives the sign of life. The file is overwritten, not only touched, so that its time is the file
// server's; the same bytes are written again and again, so a full disk does not stop it.
func beat(dir string, n int) error {
	f, err := regular.OpenFile(filepath.Join(dir, protocol.HeartbeatFile), os.O_WRONLY|os.O_CREATE, protocol.FileMode)
	if err != nil {
		return fmt.Errorf("heartbeat: %w", err)
	}
	_, err = fmt.Fprintf(f, "%019d\n", n)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("heartbeat: %w", err)
	}
	return nil
}
