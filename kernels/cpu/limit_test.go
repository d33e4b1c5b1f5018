package cpu

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A library that is loaded into too little address space waits for good; it must not be loaded there. The test is
// its own child, because the limit is the process's.
func TestLimitedAddressSpace(t *testing.T) {
	const child = "BOOST_TEST_LIMITED"
	if os.Getenv(child) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLimitedAddressSpace$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=1", "BOOST_BLAS=")
		cmd.WaitDelay = time.Second
		stop := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		defer stop.Stop()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	// Where addresses beyond the limit are taken already (by the race detector) nothing could be mapped at all,
	// so devices are asked what they would load, not opened.
	limit := unix.Rlimit{Cur: leastAddressSpace - 1, Max: leastAddressSpace - 1}
	if err := unix.Setrlimit(unix.RLIMIT_AS, &limit); err != nil {
		t.Skip(err)
	}
	b, err := openBLAS("")
	if text := strings.Join(b.describe(), "; "); err != nil || !b.gonum || !strings.Contains(text, "limited to 4095 MiB") {
		t.Errorf("%v, %s", err, text)
	}
	if _, err := openBLAS("/lib/libopenblas.so.0"); err == nil || !strings.Contains(err.Error(), "BOOST_BLAS=gonum") {
		t.Errorf("a library that was asked for: %v", err)
	}
}
