package cuda

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// doneBefore is set where `make emulator`, which is all of this and more, has just passed or failed by itself.
const doneBefore = "BOOST_TEST_EMULATOR_DONE"

// matrix runs scripts/emu-matrix.sh, which builds the kernels' own tests in build/emulator.
func matrix(t *testing.T, args ...string) {
	t.Helper()
	for _, tool := range []string{"bash", "make", "g++"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s", tool)
		}
	}
	if testing.Short() {
		t.Skip("compiles all kernels")
	}
	if os.Getenv(doneBefore) != "" {
		t.Skipf("make emulator has run it before (%s)", doneBefore)
	}
	cmd := exec.Command("bash", append([]string{filepath.Join("..", "..", "scripts", "emu-matrix.sh")}, args...)...)
	cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
}

// The kernels against double references. All modes of the emulator are for `make emulator`, which takes minutes.
func TestKernelsInTheEmulator(t *testing.T) {
	for _, mode := range []string{"order", "lazy", "race"} {
		t.Run(mode, func(t *testing.T) { matrix(t, "mode", mode) })
	}
}

// Each of these mistakes, planted in the kernels, is found by the mode that is there for it: see the table in the script.
func TestFaultMissingBarrier(t *testing.T)     { matrix(t, "fault", "NO_SYNC") }
func TestFaultMissingTailBarrier(t *testing.T) { matrix(t, "fault", "NO_TAIL_SYNC") }
func TestFaultDivergentBarrier(t *testing.T)   { matrix(t, "fault", "DIVERGENT") }
func TestFaultOutOfBounds(t *testing.T)        { matrix(t, "fault", "OUT_OF_BOUNDS") }
func TestFaultWrongFragment(t *testing.T)      { matrix(t, "fault", "FRAGMENT") }
func TestFaultMissingEventWait(t *testing.T)   { matrix(t, "fault", "NO_EVENT") }
