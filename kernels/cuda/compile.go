package cuda

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"boost-tui/internal/tool"
)

// make compiles every file by itself, several at a time, and links them.
func (c *compilation) make(ctx context.Context) (err error) {
	gpp, err := compiler()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(c.dir, making)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := writeSources(dir, c.list); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	var first error
	var mu sync.Mutex
	places := make(chan struct{}, runtime.NumCPU())
	var objects []string
	for _, s := range c.list {
		if !s.unit() {
			continue
		}
		object := strings.ReplaceAll(s.path, "/", "_") + ".o"
		objects = append(objects, object)
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			args := slices.Concat(c.flags, []string{"-I.", "-Iemu", "-Isrc", "-c", "-x", "c++", s.path, "-o", object})
			if err := compile(ctx, dir, gpp, args); err != nil {
				mu.Lock()
				defer mu.Unlock()
				if first == nil {
					first = fmt.Errorf("compile %s: %w", s.path, err)
				}
				stop()
			}
		})
	}
	wg.Wait()
	if first != nil {
		return first
	}
	const made = "library.so"
	if err := compile(ctx, dir, gpp, slices.Concat([]string{"-shared", "-o", made}, objects, []string{"-ldl", "-lpthread"})); err != nil {
		return fmt.Errorf("link: %w", err)
	}
	if err := try(ctx, filepath.Join(dir, made)); err != nil {
		return fmt.Errorf("what %s has made will not do: %w", Shown(gpp), err)
	}
	return c.install(filepath.Join(dir, made))
}

// try opens a library that has just been made, in a process of its own.
func try(ctx context.Context, path string) error {
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return errors.Join(errors.New("it ended well and made no library"), err)
	}
	if err := os.Chmod(path, 0o700); err != nil { // whatever the umask is
		return err
	}
	return Examine(ctx, Question{Library: path, Name: EmulatedName}).NoLibrary
}

// said is how much of what a compiler prints is kept, in bytes.
const said = 4 << 10

// compile runs the compiler, which ends with whatever it has started when this process does, however that ends.
func compile(ctx context.Context, dir, gpp string, args []string) error {
	out := &tool.Output{Limit: said}
	err := runChild(ctx, func(cmd *exec.Cmd) { cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out }, syscall.SIGTERM, holdRole, append([]string{gpp}, args...)...)
	if ctx.Err() != nil && err != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", Shown(gpp), err, strings.TrimSpace(out.String()))
	}
	return nil
}
