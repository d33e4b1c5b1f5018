package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"boost-tui/internal/tool"
	"boost-tui/kernels/cpu"
	"boost-tui/planner"
	"boost-tui/runner"
	"boost-tui/tui/format"
)

// diagnosis is the JSON of `doctor`.
type diagnosis struct {
	Program     version          `json:"program"`
	Processor   string           `json:"processor"`
	Cores       int              `json:"cores"`
	MemoryBytes int64            `json:"memory_bytes,omitempty"` // absent: unknown
	BLAS        []string         `json:"blas"`                   // the library in use; after it, those that were refused
	Tmux        string           `json:"tmux,omitempty"`         // version and path; absent: not found
	NVIDIA      nvidia           `json:"nvidia"`
	CUDA        cudaHere         `json:"cuda"`
	Emulated    emulatedHere     `json:"emulated"`
	Slurm       runner.SlurmHere `json:"slurm"`
	Runs        storeView        `json:"runs"`
	Missing     []missing        `json:"missing"`
}

// storeView is the folder of the runs.
type storeView struct {
	Dir       string `json:"dir"`
	Exists    bool   `json:"exists"`
	Writable  bool   `json:"writable"`
	FreeBytes int64  `json:"free_bytes,omitempty"`
	Runs      int    `json:"runs"`
	Problem   string `json:"problem,omitempty"`
}

// missing is something that this machine lacks, what for, and how to get it.
type missing struct {
	What string `json:"what"`
	For  string `json:"for"`
	How  string `json:"how"`
}

func newDoctor(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Say what this machine has, and what is missing for what", GroupID: groupHouse, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := runner.DefaultRoot(a.runs) // not store: a folder that cannot be one is a finding
			if err != nil {
				return usage(err)
			}
			d, err := diagnose(cmd.Context(), runner.NewStore(root))
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(d)
			}
			return a.printDiagnosis(d)
		},
	}
}

func diagnose(ctx context.Context, s *runner.Store) (diagnosis, error) {
	m := planner.ThisMachine()
	d := diagnosis{Program: thisVersion(), Cores: m.Cores, MemoryBytes: m.MemBytes, Missing: []missing{}}
	dev, err := cpu.Open(cpu.Options{})
	if err != nil {
		if limits := runner.CheckLimits(2, 0); limits != nil {
			err = limits
		}
		return d, fmt.Errorf("the cpu device does not open: %w", err)
	}
	info := dev.Info()
	if err := dev.Close(); err != nil {
		return d, err
	}
	d.Processor, d.BLAS = info.Name, info.Libraries
	if len(d.BLAS) == 0 || strings.HasPrefix(d.BLAS[0], cpu.Gonum) {
		d.Missing = append(d.Missing, missing{"a CBLAS library", "fast matrix products", howBLAS(d.BLAS)})
	}
	if d.Tmux = tmuxVersion(ctx); d.Tmux == "" {
		d.Missing = append(d.Missing, missing{"tmux", "end-to-end tests of the screens; keeping a terminal alive", "apt-get install tmux"})
	}
	if err := runner.CheckLimits(2, 0); err != nil {
		d.Missing = append(d.Missing, missing{"room under the shell's limits", "runs", err.Error()})
	}
	d.NVIDIA = findNVIDIA(ctx)
	d.examineDevices(ctx)
	if d.Slurm = runner.FindSlurm(ctx); len(d.Slurm.Lacks) > 0 {
		d.Missing = append(d.Missing, missing{strings.Join(d.Slurm.Lacks, ", "), "runs that Slurm starts", "load Slurm (module load slurm), or ask who runs the cluster"})
	}
	if d.Runs = examine(ctx, s); d.Runs.Problem != "" {
		d.Missing = append(d.Missing, missing{"a folder to keep runs in", "everything but plan, verify and doctor", "--runs DIR or $BOOST_RUNS"})
	}
	return d, nil
}

// howBLAS says how to get fast products: a library that is there but not used says itself what is in its way.
func howBLAS(libraries []string) string {
	if len(libraries) > 1 {
		return strings.TrimPrefix(libraries[1], "not used: ")
	}
	return "apt-get install libopenblas0-pthread, or $BOOST_BLAS=/path/to/lib.so"
}

func tmuxVersion(ctx context.Context) string {
	path, err := exec.LookPath("tmux")
	if err != nil {
		return ""
	}
	const patience, most = 2 * time.Second, 4 << 10 // bytes
	out, err := tool.Ask(ctx, patience, most, path, "-V")
	if err != nil {
		return "does not tell its version: " + runner.Clean(err.Error())
	}
	return runner.Clean(strings.TrimSpace(out)) + " (" + path + ")"
}

// examine looks at the folder of the runs, or where it would be made.
func examine(ctx context.Context, s *runner.Store) storeView {
	v := storeView{Dir: s.Root}
	if err := checkStore(s.Root); err != nil {
		v.Problem = err.Error()
		return v
	}
	there := s.Root
	for {
		_, err := os.Stat(there)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || there == filepath.Dir(there) {
			v.Problem = err.Error()
			return v
		}
		there = filepath.Dir(there)
	}
	v.Exists = there == s.Root
	if err := unix.Access(there, unix.W_OK); err != nil {
		v.Problem = fmt.Sprintf("%s cannot be written: %v", there, err)
	} else {
		v.Writable = true
	}
	var st unix.Statfs_t
	if err := unix.Statfs(there, &st); err == nil {
		v.FreeBytes = int64(st.Bavail) * st.Bsize
	}
	infos, errs := s.List(ctx)
	v.Runs = len(infos)
	if infos == nil && len(errs) > 0 {
		v.Problem = errs[0].Error()
	}
	return v
}

func (a *app) printDiagnosis(d diagnosis) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	// Paths of the environment are in it, and what programs and libraries say: a line stays one.
	const most = 2000 // runes
	line := func(name, text string, args ...any) {
		fmt.Fprintf(w, "%s\t%s\n", name, runner.CleanTo(fmt.Sprintf(text, args...), most))
	}
	line("program", "%s", d.Program)
	line("processor", "%s, %d cores", d.Processor, d.Cores)
	if d.MemoryBytes > 0 {
		line("memory", "%s", format.Bytes(d.MemoryBytes))
	}
	for i, b := range d.BLAS {
		line([]string{"matrix products", ""}[min(i, 1)], "%s", b)
	}
	if d.Tmux != "" {
		line("tmux", "%s", d.Tmux)
	}
	d.printDevices(line)
	if slurm := d.Slurm.String(); slurm != "" {
		line("Slurm", "%s", slurm)
	}
	runs := fmt.Sprintf("%s: %d runs, %s free", d.Runs.Dir, d.Runs.Runs, format.Bytes(d.Runs.FreeBytes))
	if !d.Runs.Exists {
		runs = fmt.Sprintf("%s: made with the first run, %s free", d.Runs.Dir, format.Bytes(d.Runs.FreeBytes))
	}
	if d.Runs.Problem != "" {
		runs = d.Runs.Problem
	}
	line("runs", "%s", runs)
	if err := w.Flush(); err != nil {
		return err
	}
	if len(d.Missing) == 0 {
		return a.print("nothing is missing\n")
	}
	for _, m := range d.Missing {
		if err := a.print("missing: %s, for %s: %s\n", m.What, m.For, runner.CleanTo(m.How, most)); err != nil {
			return err
		}
	}
	return nil
}
