package cuda

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// matrix runs scripts/emu-matrix.sh, which builds the kernels' own tests in build/emulator.
// doneBefore is set where `make emulator`, which is all of this and more, has just passed or failed by itself.
const doneBefore = "BOOST_TEST_EMULATOR_DONE"

func matrix(t *testing.T, args ...string) {
	t.Helper()
	for _, tool := range []string{"bash", "make", "g++"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s", tool)
		}
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
	modes := []string{"order", "lazy", "race"}
	if testing.Short() {
		modes = modes[:1]
	}
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) { matrix(t, "mode", mode) })
	}
}

// Each of these mistakes, planted in the kernels, is found by the mode that is there for it: see the table in the script. Under
// -short those alone that need no other build than the kernels' tests.
func testFault(t *testing.T, name string, ownBuild bool) {
	t.Helper()
	if testing.Short() && ownBuild {
		t.Skip("needs another build of all kernels")
	}
	matrix(t, "fault", name)
}

func TestFaultMissingBarrier(t *testing.T)     { testFault(t, "NO_SYNC", true) }
func TestFaultMissingTailBarrier(t *testing.T) { testFault(t, "NO_TAIL_SYNC", true) }
func TestFaultDivergentBarrier(t *testing.T)   { testFault(t, "DIVERGENT", false) }
func TestFaultOutOfBounds(t *testing.T)        { testFault(t, "OUT_OF_BOUNDS", true) }
func TestFaultWrongFragment(t *testing.T)      { testFault(t, "FRAGMENT", false) }
func TestFaultMissingEventWait(t *testing.T)   { testFault(t, "NO_EVENT", false) }
