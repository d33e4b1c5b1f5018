package nvml

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"boost-tui/internal/loader"
	"boost-tui/internal/tool"
	"boost-tui/profiler/record"
)

// libraryName is what the binding opens.
const libraryName = "libnvidia-ml.so.1"

// trialWord is the only argument of a process of this program that tries the library.
const trialWord = "nvml-trial"

// patience is how long the library may take in a trial: a driver that nobody keeps awake wakes every card first.
const patience = 30 * time.Second

func init() {
	if len(os.Args) == 2 && os.Args[1] == trialWord {
		os.Exit(tried())
	}
}

// try does in a process of its own what sampling will do: the library runs code as soon as it is opened, and one that is damaged, or of
// another version than the kernel's module, may crash, end the process, hang or print.
func try(ctx context.Context) error {
	if loader.Absent(libraryName) {
		return fmt.Errorf("%w (%s is not found)", ErrNoDriver, libraryName)
	}
	limited, stop := context.WithTimeout(ctx, patience)
	defer stop()
	err := tool.Again(limited, func(*exec.Cmd) {}, syscall.SIGKILL, trialWord) // what it prints goes nowhere
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && (exit.ExitCode() == holds || exit.ExitCode() == refuses):
		return nil // whoever opens a library that refuses hears why
	case ctx.Err() != nil:
		return fmt.Errorf("%s was not waited for: %w", libraryName, context.Cause(ctx))
	case limited.Err() != nil:
		return fmt.Errorf("%s does not answer within %v: nvidia-smi may say more", libraryName, patience)
	case err == nil:
		err = errors.New("it ends it")
	}
	return fmt.Errorf("%s takes a process down (%v) that opens it or reads its values: nvidia-smi may say more", libraryName, err)
}

// Exit codes of a trial that came to its end; of others a library may end the process by itself.
const (
	holds   = 81
	refuses = 82 // the library said what is wrong
)

// tried is the trial: everything that is read of every card, once.
func tried() int {
	c, err := open(nvml.New())
	if err != nil {
		return refuses
	}
	for _, g := range c.List() {
		l := record.NewHealthLine(record.KindGPU, time.Now().UnixNano())
		g.Describe()
		g.PIDs()
		g.Read(&l)
		g.Read(&l) // some values are differences
	}
	if c.Close() != nil {
		return refuses
	}
	return holds
}
