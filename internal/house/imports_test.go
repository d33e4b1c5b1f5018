package house

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "boost-tui/"

// mayImport says which packages of ours a package may import, by its longest listed prefix. "X" stands for
// X and what is below it; "X." for X alone. Tests of a package are free: they are not in the binary.
var mayImport = map[string][]string{
	"experiment":           {},
	"docs":                 {},
	"internal/filter":      {},
	"internal/house":       {},
	"internal/handshake":   {},
	"internal/hostmem":     {},
	"internal/parallel":    {},
	"internal/regular":     {},
	"internal/tool":        {},
	"internal/loader":      {},
	"kernels.":             {},
	"kernels":              {"kernels."},
	"kernels/backend":      {"kernels.", "kernels/lowrank"},
	"kernels/cpu":          {"kernels.", "kernels/backend", "kernels/lowrank", "kernels/wire"},
	"kernels/cuda":         {"kernels.", "kernels/backend", "kernels/lowrank", "internal/loader", "internal/tool"},
	"kernels/lowrank":      {},
	"kernels/wire":         {"kernels.", "internal/handshake"},
	"model":                {"kernels.", "experiment"},
	"step":                 {"model", "kernels.", "experiment"},
	"planner":              {"step", "model", "kernels.", "kernels/record", "experiment", "internal/hostmem"},
	"profiler/sample/nvml": {"profiler", "internal/loader", "internal/tool"},
	"profiler":             {"profiler", "kernels.", "experiment", "internal/parallel", "internal/regular", "internal/wallclock"},
	"runner":               {"runner", "experiment", "profiler", "internal/handshake", "internal/parallel", "internal/regular", "internal/tool", "internal/wallclock"},
	"runner/control":       {"internal/handshake"},
	"runner/mirror":        {"internal/regular"},
	"runner/slurm":         {"internal/tool"},
	"runner/ssh":           {"internal/tool"},
	"runner/userconfig":    {"internal/regular"},
	"internal/wallclock":   {},
	"runner/protocol":      {"experiment", "internal/regular"},
	"sweeps/space":         {"experiment", "planner"},
	"sweeps.":              {"sweeps/space", "experiment", "runner", "profiler/record", "internal/parallel", "internal/regular"},
	"sweeps/results":       {"sweeps.", "sweeps/space", "runner", "profiler", "experiment", "internal/filter", "internal/regular"},
	"sweeps/queue":         {"sweeps", "runner", "planner", "profiler", "experiment", "internal/regular"},
	"trainer":              {"trainer", "step", "model", "kernels", "experiment", "profiler", "runner/protocol", "docs", "internal/handshake", "internal/hostmem", "internal/regular", "internal/wallclock"},
	"trainer/prove":        {"trainer", "step", "model", "kernels", "experiment", "profiler", "internal/regular", "internal/tool"},
	"tui/early":            {},
	"tui":                  {"tui", "sweeps", "runner", "profiler", "planner", "experiment", "internal/filter"},
	"e2e":                  {"experiment", "runner", "profiler"},
	"bench":                {"sweeps", "runner", "profiler", "experiment", "kernels"},
	"cmd":                  {"tui", "sweeps", "runner", "trainer", "planner", "profiler", "step", "model", "kernels", "experiment", "docs", "internal/parallel", "internal/regular", "internal/tool"},
}

// mustNotReach says what a package must never reach, through whatever stands between: a runner starts processes
// and must not grow a trainer's C code, a profiler must not know who runs it.
var mustNotReach = map[string][]string{
	"runner":   {"trainer", "model", "step", "tui", "kernels/cpu", "sweeps"},
	"profiler": {"model", "step", "runner", "trainer", "tui", "planner", "sweeps"},
	"planner":  {"runner", "trainer", "tui", "kernels/cpu", "sweeps"},
	"sweeps":   {"trainer", "tui", "cmd", "kernels/cpu"},
	"tui":      {"trainer", "cmd"},
	"cmd":      {"tui/testkit"},
}

// Where C and the terminal libraries may be imported directly.
var (
	cgoAllowed      = []string{"kernels", "profiler/sample/nvml"}
	nvmlAllowed     = []string{"profiler/sample/nvml"}
	terminalAllowed = []string{"tui", "cmd"}
	terminalLibs    = []string{"github.com/charmbracelet/bubbletea", "github.com/charmbracelet/lipgloss"}
)

type listed struct {
	ImportPath string
	Doc        string
	Imports    []string
	Deps       []string
	CgoFiles   []string
	GoFiles    []string
	Dir        string
}

// packages lists this module's packages with everything they depend on.
func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Doc,Imports,Deps,CgoFiles,GoFiles,Dir", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("go list's JSON: %v", err)
		}
		if strings.HasPrefix(p.ImportPath, module) {
			all = append(all, p)
		}
	}
	if len(all) < 3 {
		t.Fatalf("go list named %d packages of ours", len(all))
	}
	return all
}

// covers reports whether a rule's pattern names the package (both without the module's name).
func covers(pattern, pkg string) bool {
	if exact, ok := strings.CutSuffix(pattern, "."); ok {
		return pkg == exact
	}
	return pkg == pattern || strings.HasPrefix(pkg, pattern+"/")
}

func coversAny(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return covers(p, pkg) })
}

// ruleFor finds the most specific rule of a package.
func ruleFor(rules map[string][]string, pkg string) (allowed []string, found bool) {
	best := -1
	for pattern, list := range rules {
		if covers(pattern, pkg) && len(pattern) > best {
			best, allowed, found = len(pattern), list, true
		}
	}
	return allowed, found
}

func TestImportsPointOneWay(t *testing.T) {
	for _, p := range packages(t) {
		pkg := strings.TrimPrefix(p.ImportPath, module)
		allowed, found := ruleFor(mayImport, pkg)
		if !found {
			t.Errorf("%s has no rule: say in mayImport what it may import", pkg)
			continue
		}
		for _, imp := range p.Imports {
			if own, ours := strings.CutPrefix(imp, module); ours && !coversAny(allowed, own) {
				t.Errorf("%s imports %s; it may import %v only", pkg, own, allowed)
			}
		}
		if forbidden, ok := ruleFor(mustNotReach, pkg); ok {
			for _, dep := range p.Deps {
				if own, ours := strings.CutPrefix(dep, module); ours && coversAny(forbidden, own) {
					t.Errorf("%s reaches %s", pkg, own)
				}
			}
		}
	}
}

func TestCgoAndTerminalLibrariesStayInTheirPlaces(t *testing.T) {
	for _, p := range packages(t) {
		pkg := strings.TrimPrefix(p.ImportPath, module)
		if (len(p.CgoFiles) > 0 || slices.Contains(p.Imports, "C")) && !coversAny(cgoAllowed, pkg) {
			t.Errorf("%s uses cgo; only %v may", pkg, cgoAllowed)
		}
		for _, imp := range p.Imports {
			if slices.ContainsFunc(terminalLibs, func(lib string) bool { return covers(lib, imp) }) && !coversAny(terminalAllowed, pkg) {
				t.Errorf("%s imports %s; only %v may", pkg, imp, terminalAllowed)
			}
			if covers("github.com/NVIDIA/go-nvml", imp) && !coversAny(nvmlAllowed, pkg) {
				t.Errorf("%s imports %s; only %v may", pkg, imp, nvmlAllowed)
			}
		}
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.GoFiles)+len(p.CgoFiles) > 0 && p.Doc == "" {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}

func TestRuleLookup(t *testing.T) {
	for _, c := range []struct {
		pkg, imports string
		want         bool
	}{
		{"kernels", "kernels/cpu", false},
		{"kernels/cpu", "kernels", true},
		{"kernels/cpu", "kernels/record", false},
		{"runner", "profiler/record", true},
		{"runner", "trainer/rendezvous", false},
		{"runner/protocol", "profiler", false},
		{"experimental", "kernels", false},
		{"sweeps", "planner", false},
		{"sweeps/queue", "planner", true},
		{"sweeps/space", "runner", false},
		{"sweeps/results", "sweeps/queue", false},
	} {
		allowed, _ := ruleFor(mayImport, c.pkg)
		if got := coversAny(allowed, c.imports); got != c.want {
			t.Errorf("%s may import %s: %v, want %v", c.pkg, c.imports, got, c.want)
		}
	}
}
