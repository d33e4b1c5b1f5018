package export

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"boost-tui/kernels"
	"boost-tui/profiler/record"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const start = int64(1764430000000000000)

// aRun makes a run of two ranks: 40 steps of 100 ms, the fourth sampled. Rank 1 comes 10 ms late to its collective.
func aRun(t testing.TB, root, id, scheme string) string {
	t.Helper()
	dir := filepath.Join(root, id)
	ok(t, os.MkdirAll(dir, 0o755))
	ok(t, os.WriteFile(filepath.Join(dir, "run.json"), fmt.Appendf(nil, `{"schema":1,"id":%q,"cores":4,"cpu":"x","hosts":["node1"],
		"plan":{"scheme":%q,"variant":"cola","tp":2,"pp":1,"dp":1}}`, id, scheme), 0o644))
	health, err := record.OpenWriter(record.HealthPath(dir, "node1"))
	ok(t, err)
	for rank := range 2 {
		w, err := record.OpenWriter(record.StepsPath(dir, rank))
		ok(t, err)
		for i := range 40 {
			l := record.NewStepLine(i + 1)
			l.WallNanos, l.ComputeNanos, l.ExposedNanos, l.MemNanos, l.IdleNanos = 100e6, 60e6, 30e6, 5e6, 5e6
			l.CommNanos, l.OverlapNanos, l.WaitNanos, l.Tokens, l.CommBytes, l.Loss = 30e6, 0, 10e6, 1024, 2e6, 2.5
			if i < 10 {
				l.Flags = record.Warmup
			}
			ok(t, w.Step(&l))
		}
		ok(t, w.Close())
		h := record.NewHealthLine(record.KindCPU, start+20e6)
		h.Rank, h.CPUPercent, h.RSSBytes = int64(rank), 150, 1<<30
		ok(t, health.Health(&h))
		g := record.NewHealthLine(record.KindGPU, start+20e6)
		g.Rank, g.Device, g.PowerMilliW, g.SMMHz, g.Reasons, g.PCIeTxKBs = int64(rank), int64(rank), 400_500, 1980, 4, 7
		if rank == 1 {
			ok(t, health.Health(&g))
		}
		tl, err := record.OpenTimelineWriter(record.TimelinePath(dir, rank), rank, 0)
		ok(t, err)
		late := int64(rank) * 10e6
		ok(t, tl.Write(4, []record.Span{
			{StartNanos: start, DurNanos: 5e6, Op: "upload", Class: kernels.Memory, Bytes: 64, WaitNanos: -1, Label: kernels.Label{Phase: kernels.Data, Layer: -1}},
			{StartNanos: start + 5e6, DurNanos: 50e6 + late, Op: "gemm", FLOPs: 9, WaitNanos: -1, Label: kernels.Label{Phase: kernels.Forward, Chunk: "attn.in", Op: "A"}},
			{StartNanos: start + 50e6 + late, DurNanos: 30e6 - late, Op: "all-reduce", Class: kernels.Communication, Stream: 1, Bytes: 2e6, Group: "tp",
				Seq: 3, WaitNanos: 10e6 - late, Label: kernels.Label{Phase: kernels.Forward, Chunk: "attn.in", Op: "qkv"}}}))
		ok(t, tl.Close())
	}
	ok(t, health.Close())
	return dir
}

func readCSV(t *testing.T, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	ok(t, err)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	ok(t, err)
	return rows
}

// cells picks columns of a row by their names.
func cells(rows [][]string, row int, names ...string) string {
	var out []string
	for _, n := range names {
		out = append(out, rows[row][slices.Index(rows[0], n)])
	}
	return strings.Join(out, " ")
}

// keptRows counts the rows that the figures rest on.
func keptRows(steps [][]string) (n int) {
	for i := range steps[1:] {
		if cells(steps, i+1, "kept") == "1" {
			n++
		}
	}
	return n
}

func TestExportWritesEveryFile(t *testing.T) {
	root := t.TempDir()
	dirs := []string{aRun(t, root, "a", "vanilla"), aRun(t, root, "b", "btp")}
	to := filepath.Join(root, "out")
	files, err := Export(t.Context(), dirs, to, false)
	ok(t, err)
	if len(files) != 6 {
		t.Fatalf("%v", files)
	}
	steps := readCSV(t, filepath.Join(to, StepsCSV))
	if len(steps) != 1+2*2*40 {
		t.Errorf("%d rows of steps", len(steps))
	}
	if got := cells(steps, 1, "run", "step", "rank", "wall_s", "compute_s", "comm_mb", "tok_s_gpu", "mfu_pct", "bubble_s", "loss", "warmup"); got !=
		"a 1 0 0.100000000 0.060000000 2 5120   2.5 1" {
		t.Errorf("steps: %s", got)
	}
	if n := keptRows(steps); n != 2*2*30 { // of 40 steps the first quarter is left out
		t.Errorf("%d rows are kept", n)
	}
	coll := readCSV(t, filepath.Join(to, CollectivesCSV))
	if got := cells(coll, 1, "run", "op", "group", "size_b", "n", "count", "p50_us", "wait_p50_us", "transfer_p50_us", "algbw_gbs", "busbw_gbs"); got !=
		"a all-reduce tp 2000000 2 1 25000 5000 20000 0.1 0.1" || len(coll) != 3 {
		t.Errorf("collectives: %s", got)
	}
	// 5 of 30 ms lie under compute on rank 0, and 5 of 20 on rank 1.
	if got := cells(coll, 1, "exposed_pct"); got != "80" {
		t.Errorf("exposed: %s", got)
	}
	ranks := readCSV(t, filepath.Join(to, RanksCSV))
	if got := cells(ranks, 2, "run", "rank", "host", "gpu", "step_p50_s", "compute_p50_s", "lateness_pct", "late_share", "power_w", "sm_mhz", "reasons"); got !=
		"a 1 node1 1 0.1 0.06 5 0 400.5 1980 4" {
		t.Errorf("ranks: %s", got)
	}
	gpus := readCSV(t, filepath.Join(to, GPUsCSV))
	if got := cells(gpus, 1, "host", "rank", "device", "util_pct", "mem_used_b", "power_w", "temp_c"); got != "node1 0 cpu 75 1073741824  " {
		t.Errorf("cpu device: %q", got)
	}
	if got := cells(gpus, 3, "host", "rank", "device", "util_pct", "power_w", "pcie_tx_b", "ecc_uncorrected"); got != "node1 1 1  400.5 7000 " {
		t.Errorf("gpu: %q", got)
	}
	if comp := readCSV(t, filepath.Join(to, CompareCSV)); len(comp) != 2 || cells(comp, 1, "baseline", "candidate", "ratio") != "a b 1" {
		t.Errorf("compare: %v", comp)
	}
	left, err := os.ReadDir(to)
	ok(t, err)
	if len(left) != 6 {
		t.Errorf("left behind: %v", left)
	}
}

func TestTraceOpensElsewhere(t *testing.T) {
	root := t.TempDir()
	to := filepath.Join(root, "out")
	_, err := Export(t.Context(), []string{aRun(t, root, "a", "btp")}, to, false)
	ok(t, err)
	data, err := os.ReadFile(filepath.Join(to, TraceJSON))
	ok(t, err)
	var trace struct {
		DistributedInfo struct{ Rank, World_size int }
		TraceEvents     []struct {
			Ph, Cat, Name string
			PID, TID      int
			TS, Dur       float64
			Args          map[string]any
		}
	}
	ok(t, json.Unmarshal(data, &trace))
	if trace.DistributedInfo.World_size != 2 {
		t.Errorf("%+v", trace.DistributedInfo)
	}
	count := map[string]int{}
	launches, kernelsOf := map[float64]float64{}, map[float64]float64{}
	for _, e := range trace.TraceEvents {
		count[e.Ph+" "+e.Cat]++
		switch {
		case e.Cat == "cuda_runtime":
			launches[e.Args["correlation"].(float64)] = e.TS
		case e.Cat == "kernel":
			kernelsOf[e.Args["correlation"].(float64)] = e.TS
			if (e.TID == 1) != strings.HasPrefix(e.Name, "nccl") || e.Args["stream"].(float64) != float64(e.TID) {
				t.Errorf("%+v", e)
			}
		case e.Ph == "X" && e.Cat == "user_annotation" && (e.Name != "ProfilerStep#4" || e.Dur != 80000):
			t.Errorf("%+v", e)
		}
	}
	for c, at := range kernelsOf {
		if launches[c] != at {
			t.Errorf("event %v without its launch", c)
		}
	}
	for what, n := range map[string]int{"X kernel": 4, "X gpu_memcpy": 2, "X user_annotation": 2, "X cuda_runtime": 6, "s collective": 1, "f collective": 1} {
		if count[what] != n {
			t.Errorf("%d of %q, want %d (%v)", count[what], what, n, count)
		}
	}
	if count["C "] != 3 || count["M "] != 6 {
		t.Errorf("counters and names: %v", count)
	}
}

// TestTraceMarksALink: what took its time from an emulated link carries the mark, each step and each message.
func TestTraceMarksALink(t *testing.T) {
	root := t.TempDir()
	dir := aRun(t, root, "a", "btp")
	path := filepath.Join(dir, "run.json")
	text, err := os.ReadFile(path)
	ok(t, err)
	ok(t, os.WriteFile(path, []byte(strings.Replace(string(text), `"tp":2`, `"tp":2,"link":"bw=2GB/s"`, 1)), 0o644))
	to := filepath.Join(root, "out")
	_, err = Export(t.Context(), []string{dir}, to, false)
	ok(t, err)
	data, err := os.ReadFile(filepath.Join(to, TraceJSON))
	ok(t, err)
	if n := strings.Count(string(data), `"emulated_link":"bw=2GB/s"`); n != 4 {
		t.Errorf("%d marks, want those of 2 steps and 2 messages:\n%s", n, data)
	}
}

// TestTablesNameAnEmulatedDevice: every table has the mark in a column, and none calls the device a processor or a card.
func TestTablesNameAnEmulatedDevice(t *testing.T) {
	root := t.TempDir()
	dir := aRun(t, root, "a", "btp")
	path := filepath.Join(dir, "run.json")
	text, err := os.ReadFile(path)
	ok(t, err)
	ok(t, os.WriteFile(path, []byte(strings.Replace(string(text), `"tp":2`, `"tp":2,"device":"emulated"`, 1)), 0o644))
	to := filepath.Join(root, "out")
	_, err = Export(t.Context(), []string{dir}, to, false)
	ok(t, err)
	tables, err := filepath.Glob(filepath.Join(to, "*.csv"))
	ok(t, err)
	if len(tables) != 5 {
		t.Errorf("tables: %v", tables)
	}
	for _, path := range tables {
		rows := readCSV(t, path)
		if !slices.Contains(rows[0], "emulated_link") || !slices.Contains(rows[0], "emulated_device") {
			t.Errorf("%s has no column for it: %v", path, rows[0])
			continue
		}
		for i := 1; i < len(rows); i++ {
			if got := cells(rows, i, "emulated_device"); got != "emulated" {
				t.Errorf("%s, row %d: %q", path, i, got)
			}
		}
	}
	if got := cells(readCSV(t, filepath.Join(to, GPUsCSV)), 1, "device"); got != "emulated" {
		t.Errorf("device of %s: %q", GPUsCSV, got)
	}
	if got := cells(readCSV(t, filepath.Join(to, RanksCSV)), 1, "gpu"); got != "emulated" {
		t.Errorf("gpu of %s: %q", RanksCSV, got)
	}
}

func TestExportRefusesToOverwrite(t *testing.T) {
	root := t.TempDir()
	dirs := []string{aRun(t, root, "a", "btp")}
	to := filepath.Join(root, "out")
	ok(t, os.MkdirAll(to, 0o755))
	mine := filepath.Join(to, RanksCSV)
	ok(t, os.WriteFile(mine, []byte("mine"), 0o644))
	if _, err := Export(t.Context(), dirs, to, false); !errors.Is(err, ErrExists) || !strings.Contains(err.Error(), mine) {
		t.Errorf("got %v", err)
	}
	entries, err := os.ReadDir(to)
	ok(t, err)
	if data, _ := os.ReadFile(mine); string(data) != "mine" || len(entries) != 1 {
		t.Errorf("%q, %v", data, entries)
	}
	_, err = Export(t.Context(), dirs, to, true)
	ok(t, err)
	if data, _ := os.ReadFile(mine); !strings.HasPrefix(string(data), "run,rank,host") {
		t.Errorf("%q", data)
	}
}

func TestAFailedExportLeavesNothing(t *testing.T) {
	root := t.TempDir()
	dir := aRun(t, root, "a", "btp")
	ok(t, os.WriteFile(record.TimelinePath(dir, 1), []byte("no timeline, but long enough to have a header of sixty-four bytes."), 0o644))
	to := filepath.Join(root, "out")
	if _, err := Export(t.Context(), []string{dir}, to, false); err == nil || !strings.Contains(err.Error(), "not a timeline") {
		t.Errorf("got %v", err)
	}
	if entries, _ := os.ReadDir(to); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
	if _, err := Export(t.Context(), nil, to, false); err == nil {
		t.Error("exported nothing")
	}
}

func TestExportOfARunThatHasNothing(t *testing.T) {
	root := t.TempDir()
	ok(t, os.WriteFile(filepath.Join(root, "run.json"), []byte(`{"schema":1,"id":"x"}`), 0o644))
	files, err := Export(t.Context(), []string{root}, filepath.Join(root, "out"), false)
	ok(t, err)
	data, err := os.ReadFile(files[5])
	ok(t, err)
	if !json.Valid(data) {
		t.Errorf("%s", data)
	}
}
