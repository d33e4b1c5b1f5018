package terminal

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Redirect sends file descriptor 2 of the process to a file until the returned
// function is called. C libraries, crash reports of the Go runtime and child
// processes write to the descriptor, not to os.Stderr, and would spoil the
// screen.
func Redirect(to *os.File) (restore func() error, err error) {
	saved, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("keep standard error: %w", err)
	}
	if err := unix.Dup3(int(to.Fd()), 2, 0); err != nil {
		unix.Close(saved)
		return nil, fmt.Errorf("redirect standard error: %w", err)
	}
	return func() error {
		defer unix.Close(saved)
		if err := unix.Dup3(saved, 2, 0); err != nil {
			return fmt.Errorf("restore standard error: %w", err)
		}
		return nil
	}, nil
}
