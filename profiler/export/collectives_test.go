package export

import (
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"boost-tui/kernels"
	"boost-tui/profiler/record"
)

// Ranks notice the end of a collective at different times. Wait and transfer still make up the duration
// of each, and bandwidth rests on the first to notice.
func TestWaitAndTransferAddUp(t *testing.T) {
	root := t.TempDir()
	for _, measured := range []bool{true, false} {
		dir := aRun(t, root, "a"+strconv.FormatBool(measured), "btp")
		for rank := range 2 {
			w, err := record.OpenTimelineWriter(record.TimelinePath(dir, rank), rank, 0)
			ok(t, err)
			var spans []record.Span
			for seq := range 10 {
				// Rank 1 comes 100 us late; rank 0 wakes 400 us after rank 1, now and then.
				s := record.Span{StartNanos: start + int64(seq)*1e6, DurNanos: 600e3, Op: "all-reduce", Class: kernels.Communication, Stream: 1, Bytes: 4000, Group: "tp",
					Seq: seq, WaitNanos: -1, Label: kernels.Label{Phase: kernels.Forward, Op: "qkv"}}
				if seq%3 == 0 {
					s.DurNanos = 200e3
				}
				if measured {
					s.WaitNanos = 120e3
				}
				if rank == 1 {
					s.StartNanos, s.DurNanos = s.StartNanos+100e3, 100e3
					s.WaitNanos = min(s.WaitNanos, 20e3)
				}
				spans = append(spans, s)
			}
			ok(t, w.Write(5, spans))
			ok(t, w.Close())
		}
		to := filepath.Join(root, "out-"+strconv.FormatBool(measured))
		_, err := Export(t.Context(), []string{dir}, to, false)
		ok(t, err)
		rows := readCSV(t, filepath.Join(to, CollectivesCSV))
		row := -1
		for i := range rows {
			if rows[i][3] == "4000" {
				row = i
			}
		}
		var v []float64
		for _, c := range strings.Fields(cells(rows, row, "count", "mean_us", "wait_mean_us", "transfer_mean_us", "first_end_p50_us", "algbw_gbs")) {
			x, err := strconv.ParseFloat(c, 64)
			ok(t, err)
			v = append(v, x)
		}
		wait := map[bool]float64{true: 70, false: 50}[measured]
		if v[0] != 10 || v[1] != (440+100)/2 || v[2] != wait || math.Abs(v[1]-v[2]-v[3]) > 1e-6 || v[4] != 100 || v[5] != 0.04 {
			t.Errorf("measured %v: count, mean, wait, transfer, first end, bandwidth %v", measured, v)
		}
	}
}
