package cuda

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"boost-tui/internal/tool"
)

// EnvMode names the variable that holds the emulator's mode: words like "random=7 lazy", and racecheck.
const EnvMode = "BOOST_EMU"

// raceWord asks for a library that checks every access to shared memory; the other words are for the library itself.
const raceWord = "racecheck"

// ErrNoCompiler is wrapped when the emulated device cannot be compiled for want of g++.
var ErrNoCompiler = errors.New("no g++")

// Emulator opens the emulated library, which is compiled at first and kept in the user's cache. say is told that it is
// being compiled, which takes up to a minute; nil: nobody is.
func Emulator(ctx context.Context, say func(format string, args ...any)) (*Library, error) {
	path, err := Compile(ctx, say)
	if err != nil {
		return nil, err
	}
	return Load(path, EmulatedName)
}

// Mode is what $BOOST_EMU asks of the library itself.
func Mode() string {
	words := slices.DeleteFunc(strings.Fields(os.Getenv(EnvMode)), func(w string) bool { return w == raceWord })
	return strings.Join(words, " ")
}

// CheckMode refuses words of $BOOST_EMU that the emulator does not know.
func CheckMode() error {
	for _, w := range strings.Fields(os.Getenv(EnvMode)) {
		name, seed, seeded := strings.Cut(w, "=")
		if seeded {
			if _, err := strconv.ParseUint(seed, 10, 64); err == nil && name == "random" {
				continue
			}
		} else if slices.Contains([]string{"order", "random", "lazy", raceWord}, w) {
			continue
		}
		return fmt.Errorf("$%s has %.40q; the emulator knows order, random, random=SEED, lazy and %s", EnvMode, w, raceWord)
	}
	return nil
}

// compilation is a library to be made.
type compilation struct {
	list  []source
	flags []string
	dir   string // of the cache
	path  string // of the library
}

// Compile is the path of the emulated library in the user's cache, which is made where it is not there yet. Programs that
// need it at the same time wait for one of them.
func Compile(ctx context.Context, say func(format string, args ...any)) (string, error) {
	c, err := plan()
	if err != nil {
		return "", fmt.Errorf("emulated device: %w", err)
	}
	if c.there() {
		return c.path, nil
	}
	if _, err := compiler(); err != nil {
		return "", fmt.Errorf("emulated device: %w", err)
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return "", fmt.Errorf("emulated device: a folder for the compiled library: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(c.dir, "lock"))
	if err != nil {
		return "", fmt.Errorf("emulated device: wait for another program that compiles it: %w", err)
	}
	defer unlock()
	if c.there() {
		return c.path, nil
	}
	if say != nil {
		say("compiling the emulated device, once; it stays in %s", c.dir)
	}
	if err := c.make(ctx); err != nil {
		return "", fmt.Errorf("emulated device: %w", err)
	}
	c.tidy()
	return c.path, nil
}

func plan() (*compilation, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("no folder for a cache: %w", err)
	}
	c := &compilation{dir: filepath.Join(cache, "boost-tui", "emulated"),
		flags: []string{"-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-DBT_EMU"}}
	if slices.Contains(strings.Fields(os.Getenv(EnvMode)), raceWord) {
		c.flags = append(c.flags, "-DBT_RACECHECK")
	}
	if c.list, err = allSources(); err != nil {
		return nil, err
	}
	hash := digest(c.list, append([]string{runtime.GOARCH}, c.flags...)...)
	c.path = filepath.Join(c.dir, "libboost_emucuda-"+hash+".so")
	return c, nil
}

// there reports whether the library has been made, and notes that it is in use.
func (c *compilation) there() bool {
	if _, err := os.Stat(c.path); err != nil {
		return false
	}
	now := time.Now()
	_ = os.Chtimes(c.path, now, now) // a folder that cannot be written is read all the same
	return true
}

// compiler is the path of g++.
func compiler() (string, error) {
	path, err := exec.LookPath("g++")
	if err != nil {
		return "", fmt.Errorf("%w, which compiles it the first time: install it (apt-get install g++, or module load gcc), or use --device cpu", ErrNoCompiler)
	}
	return filepath.Abs(path)
}

// Compiler says which g++ would compile the emulated library: version and path.
func Compiler(ctx context.Context) (string, error) {
	path, err := compiler()
	if err != nil {
		return "", err
	}
	const patience, most = 5 * time.Second, 4 << 10
	out, err := tool.Ask(ctx, patience, most, path, "--version")
	if err != nil {
		return "", fmt.Errorf("%s does not tell its version: %w", path, err)
	}
	first, _, _ := strings.Cut(out, "\n")
	return strings.TrimSpace(first) + " (" + path + ")", nil
}

// make compiles every file by itself, several at a time, and links them.
func (c *compilation) make(ctx context.Context) (err error) {
	gpp, err := compiler()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(c.dir, "making-")
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
	return os.Rename(filepath.Join(dir, made), c.path)
}

// said is how much of what a compiler prints is kept, in bytes.
const said = 4 << 10

func compile(ctx context.Context, dir, gpp string, args []string) error {
	cmd := exec.CommandContext(ctx, gpp, args...)
	out := &tool.Output{Limit: said}
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	tool.Own(cmd)
	err := cmd.Run()
	if ctx.Err() != nil && err != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", gpp, err, strings.TrimSpace(out.String()))
	}
	return nil
}

// Bounds of the cache: libraries of earlier versions of the program that nobody has used for a while go.
const (
	keptLibraries = 4
	keptFor       = 24 * time.Hour
)

// tidy removes libraries beyond the bounds, and what a compilation that was killed has left. One that is in use is no trouble: whoever
// has it open keeps it.
func (c *compilation) tidy() {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	type entry struct {
		path string
		at   time.Time
	}
	var libraries []entry
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		path := filepath.Join(c.dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "making-"): // by nobody alive: the lock is held
			_ = os.RemoveAll(path)
		case strings.HasSuffix(e.Name(), ".so") && path != c.path:
			libraries = append(libraries, entry{path, info.ModTime()})
		}
	}
	slices.SortFunc(libraries, func(a, b entry) int { return b.at.Compare(a.at) })
	for i, l := range libraries {
		if i >= keptLibraries-1 && time.Since(l.at) > keptFor || i >= 4*keptLibraries {
			_ = os.Remove(l.path)
		}
	}
}

// lockTick is how often somebody who waits for a lock looks whether it is free.
const lockTick = 100 * time.Millisecond

// lock takes a lock among programs.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(err, f.Close())
		}
		select {
		case <-time.After(lockTick):
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), f.Close())
		}
	}
}

// Compiled reports whether the emulated library of this program is in the user's cache already, and where.
func Compiled() (path string, there bool) {
	c, err := plan()
	if err != nil {
		return "", false
	}
	_, err = os.Stat(c.path)
	return c.path, err == nil || !errors.Is(err, fs.ErrNotExist)
}
