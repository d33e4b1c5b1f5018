package live

import (
	"time"

	"boost-tui/profiler/record"
)

// sample is the newest health line of a rank.
type sample struct {
	line record.HealthLine
	host string
}

type healthTailer struct {
	*record.Tailer
	before, now record.HealthLine
}

// readHealth reads what the hosts' samples say; now is when, by the screen's clock.
func (f *follower) readHealth(now time.Time) error {
	hosts, err := record.HealthHosts(f.dir)
	if err != nil {
		return err
	}
	for _, host := range hosts {
		t := f.health[host]
		if t == nil {
			t = &healthTailer{Tailer: record.NewTailer(record.HealthPath(f.dir, host))}
			t.before, t.now = record.NewHealthLine(record.KindHost, -1), record.NewHealthLine(record.KindHost, -1)
			if err := t.SkipToLast(healthTail); err != nil {
				return err
			}
			f.health[host] = t
		}
		for more := true; more; {
			if more, err = t.Poll(refineChunk, func(line []byte) { f.takeHealth(t, host, line) }); err != nil {
				return err
			}
		}
		f.feel(host, now)
	}
	return nil
}

func (f *follower) takeHealth(t *healthTailer, host string, line []byte) {
	var l record.HealthLine
	if l.Decode(line) != nil {
		return
	}
	if l.Kind == record.KindHost {
		t.before, t.now = t.now, l
		return
	}
	if l.Rank >= 0 {
		f.cpu[int(l.Rank)] = sample{l, host}
	}
}

// stat is the host's newest sample with rates since the one before.
func (t *healthTailer) stat(host string) hostStat {
	h := newHostStat(host)
	h.busy, h.memUsed, h.nanos = t.now.CPUPercent/100, t.now.MemUsedBytes, t.now.TSNanos
	if dt := float64(t.now.TSNanos-t.before.TSNanos) / 1e9; t.before.TSNanos >= 0 && dt > 0 {
		if t.before.NetTxBytes >= 0 && t.now.NetTxBytes >= t.before.NetTxBytes {
			h.tx = float64(t.now.NetTxBytes-t.before.NetTxBytes) / dt
		}
		if t.before.NetRxBytes >= 0 && t.now.NetRxBytes >= t.before.NetRxBytes {
			h.rx = float64(t.now.NetRxBytes-t.before.NetRxBytes) / dt
		}
	}
	return h
}
