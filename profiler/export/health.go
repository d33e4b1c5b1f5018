package export

import (
	"cmp"
	"context"
	"io"
	"math"
	"strconv"

	"boost-tui/experiment"
	"boost-tui/profiler/record"
)

const gpusHead = "run,ts_s,host,rank,device,util_pct,mem_util_pct,mem_used_b,power_w,sm_mhz,mem_mhz,temp_c,reasons,nvlink_tx_b,nvlink_rx_b," +
	"pcie_tx_b,pcie_rx_b,ecc_uncorrected,emulated_link,emulated_device"

// processor is what a rank is called in the column of devices whose processor is looked at: the device that it emulates, where it does.
func (r *run) processor() string { return cmp.Or(r.emulatedDevice(), experiment.DeviceCPU) }

// eachHealth yields the health lines of a run's hosts.
func eachHealth(ctx context.Context, r *run, yield func(host string, l *record.HealthLine) error) error {
	hosts, err := record.HealthHosts(r.Dir)
	if err != nil {
		return err
	}
	for _, h := range hosts {
		_, err := record.EachHealthLine(ctx, record.HealthPath(r.Dir, h), func(l *record.HealthLine) error { return yield(h, l) })
		if err != nil {
			return err
		}
	}
	return nil
}

// writeGPUs is gpus.csv: every sample of every device.
func writeGPUs(ctx context.Context, w io.Writer, runs []*run) error {
	t := newTable(w, gpusHead)
	for _, r := range runs {
		cores := r.coresPerRank()
		err := eachHealth(ctx, r, func(host string, l *record.HealthLine) error {
			switch l.Kind {
			case record.KindGPU:
				t.text(r.ID).seconds(l.TSNanos).text(host).known(l.Rank, l.Device).float(l.GPUPercent, l.MemPercent).known(l.MemUsedBytes)
				t.float(scale(l.PowerMilliW, 1000)).known(l.SMMHz, l.MemMHz, l.TempC, l.Reasons, l.NVLinkTxBytes, l.NVLinkRxBytes)
				t.float(scale(l.PCIeTxKBs, 1e-3), scale(l.PCIeRxKBs, 1e-3)).known(l.ECCFatal)
			case record.KindCPU:
				util := math.NaN()
				if cores > 0 {
					util = l.CPUPercent / cores
				}
				t.text(r.ID).seconds(l.TSNanos).text(host).known(l.Rank).text(r.processor()).float(util).text("").known(l.RSSBytes)
				t.text("", "", "", "", "", "", "", "", "", "")
			default:
				return nil
			}
			t.text(r.Plan.Link, r.emulatedDevice())
			return t.end()
		})
		if err != nil {
			return err
		}
	}
	return t.close()
}

// device is what health lines say of a rank's device over the run.
type device struct {
	host    string
	name    string
	watts   []float64
	mhz     []float64
	reasons int64
}

func devices(ctx context.Context, r *run) (map[int]*device, error) {
	out := map[int]*device{}
	err := eachHealth(ctx, r, func(host string, l *record.HealthLine) error {
		if l.Kind == record.KindHost || l.Rank < 0 {
			return nil
		}
		d := out[int(l.Rank)]
		if d == nil {
			d = &device{host: host, name: r.processor(), reasons: record.Unknown}
			out[int(l.Rank)] = d
		}
		if l.Kind != record.KindGPU {
			return nil
		}
		d.name = strconv.FormatInt(l.Device, 10)
		if l.PowerMilliW >= 0 {
			d.watts = append(d.watts, float64(l.PowerMilliW)/1000)
		}
		if l.SMMHz >= 0 {
			d.mhz = append(d.mhz, float64(l.SMMHz))
		}
		if l.Reasons >= 0 {
			d.reasons = max(0, d.reasons) | l.Reasons
		}
		return nil
	})
	return out, err
}
