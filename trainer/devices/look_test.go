package devices

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"boost-tui/experiment"
	"boost-tui/kernels/cuda"
)

// build compiles a C source into a library of that name, and gives its path.
func build(t *testing.T, name, source string, flags ...string) string {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc")
	}
	path := filepath.Join(t.TempDir(), name)
	args := append([]string{"-shared", "-fPIC", "-I../../kernels/backend", "-o", path, source}, flags...)
	if out, err := exec.Command(gcc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// driver puts a driver with two cards where the loader finds it.
func driver(t *testing.T, flags ...string) {
	t.Helper()
	t.Setenv("CUDA_VISIBLE_DEVICES", "0,1")
	t.Setenv("LD_LIBRARY_PATH", filepath.Dir(build(t, "libcuda.so.1", "testdata/driver.c", flags...)))
}

// Whatever the libraries do, a run on GPUs is refused in one line that names the library, and auto is the processor for that reason.
func TestLibrariesThatTakeAProcessDown(t *testing.T) {
	const ours = "../../kernels/cuda/testdata/library.c"
	for name, c := range map[string]struct {
		driver, library, want string
	}{
		"crashes at once":    {"-DFINE", "-DAT_ONCE=abort()", "library: cuda device: library LIBRARY crashes (aborted) when it is opened"},
		"ends the process":   {"-DFINE", "-DAT_ONCE=exit(0)", "library: cuda device: library LIBRARY ends the process (exit code 0) when it is opened"},
		"crashes when asked": {"-DFINE", "-DAT_PROBE=abort()", "LIBRARY crashes (aborted) when it is asked what it needs"},
		"crashes at last":    {"-DFINE", "-DAT_OPEN=abort()", "LIBRARY crashes (aborted) when it opens a device"},
		"prints":             {"-DFINE", `-DAT_OPEN=fputs("\33[2J", stderr); return BT_EINVAL`, "open the cuda device: "},
		"sees no GPU":        {"-DFINE", "-DDEVICES=0", "no GPU is visible (CUDA_VISIBLE_DEVICES=0,1)"},
		"a driver that dies": {"-DAT_ONCE=abort()", "-DFINE", "driver: the NVIDIA driver's library libcuda.so.1 crashes (aborted) when it is asked"},
		"an odd driver":      {"-DCARDS=-5", "-DFINE", "says that there are -5 GPUs"},
	} {
		t.Run(name, func(t *testing.T) {
			driver(t, c.driver)
			path := build(t, cuda.LibraryName, ours, c.library)
			t.Setenv(cuda.EnvLibrary, path)
			want := strings.ReplaceAll(c.want, "LIBRARY", path)
			_, err := CheckRun(t.Context(), experiment.DeviceCUDA, 1)
			if err == nil || !strings.Contains(err.Error(), want) || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%v does not say %q", err, want)
			}
			device, why, err := Settle(t.Context(), experiment.DeviceAuto, 1)
			if err != nil || device != experiment.DeviceCPU || why == nil || !strings.Contains(why.Error(), want) {
				t.Errorf("auto: %s, %v, %v", device, why, err)
			}
		})
	}
}

// Where everything is there, it is the GPUs that auto takes, and ranks are told which library was tried.
func TestAutoTakesTheGPUs(t *testing.T) {
	driver(t)
	path := build(t, cuda.LibraryName, "../../kernels/cuda/testdata/library.c")
	t.Chdir(filepath.Dir(path))
	t.Setenv(cuda.EnvLibrary, cuda.LibraryName)
	device, why, err := Settle(t.Context(), experiment.DeviceAuto, 1)
	if device != experiment.DeviceCUDA || why != nil || err != nil || os.Getenv(cuda.EnvLibrary) != path {
		t.Errorf("%s, %v, %v, %s", device, why, err, os.Getenv(cuda.EnvLibrary))
	}
	g := Look(t.Context())
	if g.Library != path || g.Cards != 2 || len(g.Findings) != 2 {
		t.Errorf("%+v", g)
	}
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := CheckRun(t.Context(), experiment.DeviceCUDA, 1); err == nil || !strings.Contains(err.Error(), "library "+path+" is not used") || !strings.Contains(err.Error(), "written by others") {
		t.Errorf("one that others may write: %v", err)
	}
}
