package prove

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"boost-tui/experiment"
)

// Names of the parts, beside those of stepParts.
const (
	PartVersions   = "versions"
	PartGoldenFP32 = "golden-fp32"
	PartGoldenBF16 = "golden-bf16"
	PartAgainstCPU = "against-cpu"
	PartProducts   = "products"
	PartAttention  = "attention"
	PartTorch      = "attention-torch"
	PartElements   = "elements"
	PartKernels    = "kernel-tests"
	PartMemcheck   = "memcheck"
	PartRacecheck  = "racecheck"
	PartTwoRanks   = "two-ranks"

	partSmallStep = "small-step" // what the sanitizer runs
)

// TotalLimit is for how long all parts go on.
const TotalLimit = 6 * time.Minute

// part is one to be run.
type part struct {
	name   string
	budget time.Duration // after which it is killed
	// command is what to run, with more of the environment; or why the part is left out here.
	command func(*proof) (argv, env []string, leftOut absence)
	// tool: what it prints is text and not JSON.
	tool  bool
	needs need
	asks  bool // it is begun without what it needs, to say what else is missing
}

// Parts are the names of all parts of a report, in their order.
func Parts() (names []string) {
	for _, p := range plan() {
		names = append(names, p.name)
	}
	return names
}

// plan is the parts in the order of how much is to be learnt from them: what is right, then how fast, then what takes long.
func plan() []part {
	list := []part{
		{name: PartVersions, budget: 15 * time.Second, needs: needsNothing, command: func(p *proof) ([]string, []string, absence) {
			return []string{p.Program, "doctor", "--json"}, nil, absence{}
		}},
		own(PartGoldenFP32, 40), own(PartGoldenBF16, 50), own(PartAgainstCPU, 25),
	}
	for _, s := range stepParts[:4] {
		list = append(list, own(s.name, 25))
	}
	list = append(list, own(PartProducts, 40), own(PartAttention, 15), part{name: PartTorch, budget: 30 * time.Second, needs: needsGPU, asks: true, command: torch}, own(PartElements, 20))
	for _, s := range stepParts[4:] {
		list = append(list, own(s.name, 25))
	}
	return append(list, part{name: PartTwoRanks, budget: time.Minute, command: twoRanks},
		part{name: PartKernels, budget: 30 * time.Second, needs: needsGPU, command: kernelTests, tool: true},
		part{name: PartMemcheck, budget: 40 * time.Second, command: sanitizer("memcheck"), tool: true},
		part{name: PartRacecheck, budget: 40 * time.Second, command: sanitizer("racecheck"), tool: true})
}

// own is a part that this program measures. It begins nothing more a while before it would be killed.
func own(name string, seconds int) part {
	return part{name: name, budget: time.Duration(seconds) * time.Second, command: func(p *proof) ([]string, []string, absence) {
		return p.measure(name, time.Duration(seconds)*time.Second*3/4), nil, absence{}
	}}
}

func (p *proof) measure(name string, budget time.Duration) []string {
	argv := []string{p.Program, "bench-gpu", "--part", name, "--device", p.Device, "--budget", budget.String()}
	if p.Tiny {
		argv = append(argv, "--tiny")
	}
	return argv
}

// leavesOut is the exit status by which sdpa.py says that it has nothing to measure with.
const leavesOut = 77

const notEmulated = "not for the emulated device"

func torch(p *proof) (argv, env []string, leftOut absence) {
	if p.Device != experiment.DeviceCUDA {
		return nil, nil, absence{notEmulated, true}
	}
	python, err := exec.LookPath(p.Python)
	if err != nil {
		return nil, nil, absence{"there is no Python: " + err.Error(), true}
	}
	script := filepath.Join(p.Beside, "sdpa.py")
	if _, err := os.Stat(script); err != nil {
		return nil, nil, absence{why: "sdpa.py is not beside the program"}
	}
	return []string{python, script}, nil, absence{}
}

func kernelTests(p *proof) (argv, env []string, leftOut absence) {
	if p.Device != experiment.DeviceCUDA {
		return nil, nil, absence{notEmulated + ": scripts/emu-matrix.sh runs them there", true}
	}
	var found []string
	for _, name := range []string{"ops_test", "attention_test"} {
		if path := filepath.Join(p.Beside, name); there(path) {
			found = append(found, path)
		}
	}
	if len(found) == 0 {
		return nil, nil, absence{why: "ops_test and attention_test are not beside the program (in the project, scripts/cuda.sh tests builds them)"}
	}
	return append([]string{"/bin/sh", "-c", `for t; do "$t" || exit 1; done`, "tests"}, found...), nil, absence{}
}

// sanitizer runs the small step under NVIDIA's compute-sanitizer.
func sanitizer(tool string) func(*proof) ([]string, []string, absence) {
	return func(p *proof) ([]string, []string, absence) {
		if p.Device != experiment.DeviceCUDA {
			return nil, nil, absence{notEmulated + ": scripts/emu-matrix.sh looks for the same there", true}
		}
		path := findSanitizer(p.Python)
		if path == "" {
			return nil, nil, absence{"compute-sanitizer is neither on PATH, nor under CUDA_HOME or /usr/local/cuda, nor among the wheels of " + p.Python, true}
		}
		return append([]string{path, "--tool", tool, "--error-exitcode", "9", "--print-limit", "20"}, p.measure(partSmallStep, time.Minute)...), nil, absence{}
	}
}

func findSanitizer(python string) string {
	const name = "compute-sanitizer"
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	places := []string{filepath.Join(os.Getenv("CUDA_HOME"), "bin", name), filepath.Join("/usr/local/cuda/bin", name)}
	if path, err := exec.LookPath(python); err == nil {
		for _, inside := range []string{"nvidia/*/bin/" + name, "nvidia/*/compute-sanitizer/" + name, "nvidia/*/" + name} {
			found, err := filepath.Glob(filepath.Join(filepath.Dir(path), "../lib/python3*/site-packages", inside))
			if err == nil {
				places = append(places, found...)
			}
		}
	}
	for _, path := range places {
		if filepath.IsAbs(path) && there(path) {
			return path
		}
	}
	return ""
}

func there(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// leastNCCL is the first version that lets ranks share a GPU.
const leastNCCL = "2.30"

func twoRanks(p *proof) (argv, env []string, leftOut absence) {
	argv = []string{p.Program, "run", "--device", p.Device, "--size", "tiny", "--variant", "cola",
		"--scheme", "btp", "--tp", "2", "--steps", "5", "--warmup", "1", "--keep-last", "0", "--name", "two-ranks", "--json"}
	if p.Tiny {
		argv = append(argv, "--seq", "16", "--micro-batch", "1")
	}
	if p.Device != experiment.DeviceCUDA {
		return argv, nil, absence{}
	}
	switch has, lacks, ok := nccl(p.findings); {
	case p.findings == nil:
		return nil, nil, absence{why: "which NCCL there is is not known: " + PartVersions + " has no result"}
	case has == "":
		return nil, nil, absence{cmp.Or(lacks, "there is no NCCL"), true}
	case !ok:
		return nil, nil, absence{fmt.Sprintf("NCCL is %s; from %s on ranks may share a GPU", has, leastNCCL), true}
	}
	return argv, []string{"NCCL_MULTI_RANK_GPU_ENABLE=1"}, absence{}
}

// nccl is its version, or what it lacks, and whether it is new enough.
func nccl(findings []finding) (version, lacks string, ok bool) {
	for _, f := range findings {
		if !strings.Contains(f.What, "NCCL") {
			continue
		}
		if f.Lacks != "" {
			lacks = Lack{What: f.What, Why: f.Lacks}.String()
		}
		for _, w := range strings.FieldsFunc(f.Value, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }) {
			major, rest, dotted := strings.Cut(w, ".")
			minor, _, _ := strings.Cut(rest, ".")
			a, err1 := strconv.Atoi(major)
			b, err2 := strconv.Atoi(minor)
			if dotted && err1 == nil && err2 == nil {
				return w, lacks, a > 2 || a == 2 && b >= 30
			}
		}
	}
	return "", lacks, false
}
