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
	"time"
	"unicode"

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
		return errors.New("it ended well and made no library")
	}
	if err := os.Chmod(path, 0o700); err != nil { // whatever the umask is
		return err
	}
	return Examine(ctx, Question{Library: path, Name: EmulatedName}).NoLibrary
}

// said is how much of what a compiler prints is kept, in bytes.
const said = 4 << 10

// compileLimit is how long one file may take: a minute is much on a busy machine, and others wait for who compiles.
const compileLimit = 15 * time.Minute

// compile runs the compiler, which ends with whatever it has started when this process does, however that ends. What it keeps for a
// while it keeps in the folder, too, which goes.
func compile(ctx context.Context, dir, gpp string, args []string) error {
	out := &tool.Output{Limit: said}
	limited, stop := context.WithTimeout(ctx, compileLimit)
	defer stop()
	err := runChild(limited, func(cmd *exec.Cmd) {
		cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = dir, out, out, append(os.Environ(), "TMPDIR="+dir)
	}, syscall.SIGTERM, holdRole, append([]string{gpp}, args...)...)
	switch text := oneLine(out.String()); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case limited.Err() != nil:
		return fmt.Errorf("%s does not end within %v", Shown(gpp), compileLimit)
	case strings.Contains(strings.ToLower(text), syscall.ENOSPC.Error()):
		return fmt.Errorf("%s: %w: %s: free some space in %s, or set XDG_CACHE_HOME to a folder with some", Shown(gpp), err, text, Shown(filepath.Dir(dir)))
	default:
		return fmt.Errorf("%s: %w: %s", Shown(gpp), err, text)
	}
}

// oneLine is a text of somebody else's as a line, without what a terminal would obey.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }), " ")
}
