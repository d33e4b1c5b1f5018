package runner

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
)

// listen follows the lifeline of a foreground run: a line on it is a reason to end the run, its end means that
// whoever holds it is gone. The channel gets at most one reason. hangUp ends the listening. host is what records call this one.
func listen(foreground bool, line io.ReadCloser, host string) (life <-chan string, hangUp func(), err error) {
	if !foreground {
		return nil, func() {}, nil
	}
	if line == nil {
		if line, err = ownStdin(); err != nil {
			return nil, nil, err
		}
	}
	said := make(chan string, 1)
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		defer close(said)
		text, err := bufio.NewReader(io.LimitReader(line, 4096)).ReadString('\n')
		if errors.Is(err, os.ErrClosed) {
			return
		}
		reason := clean(strings.TrimSpace(text), 200)
		if reason == "" {
			reason = lifelineEnded(host)
		}
		said <- reason
	}()
	return said, func() {
		if err := line.Close(); err == nil || errors.Is(err, os.ErrClosed) {
			wg.Wait()
		}
	}, nil
}

// ownStdin is stdin in a form whose Close wakes a reader. The descriptor is a pipe that only this
// process reads, so making it non-blocking disturbs nobody.
func ownStdin() (*os.File, error) {
	fd, err := syscall.Dup(0)
	if err != nil {
		return nil, fmt.Errorf("lifeline: %w", err)
	}
	syscall.CloseOnExec(fd)
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, errors.Join(fmt.Errorf("lifeline: %w", err), syscall.Close(fd))
	}
	return os.NewFile(uintptr(fd), "lifeline"), nil
}
