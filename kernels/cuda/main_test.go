package cuda

import (
	"os"
	"testing"
)

// The race detector's runtime sleeps a second at the end of every process, and these tests start hundreds: a fake compiler's holders,
// and trials of libraries.
func TestMain(m *testing.M) {
	if err := os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
