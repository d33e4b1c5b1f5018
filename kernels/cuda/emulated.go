package cuda

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"boost-tui/internal/tool"
	"boost-tui/kernels/backend"
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

// modeWords are those of $BOOST_EMU, between blanks or commas.
func modeWords() []string {
	return strings.FieldsFunc(os.Getenv(EnvMode), func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

// Mode is what $BOOST_EMU asks of the library itself, one blank between words.
func Mode() string {
	return strings.Join(slices.DeleteFunc(modeWords(), func(w string) bool { return w == raceWord }), " ")
}

// mostMode is how long a mode may be, in bytes: what the library is handed has an end.
const mostMode = 63

// CheckMode refuses what $BOOST_EMU has and the emulator does not know.
func CheckMode() error {
	for _, w := range modeWords() {
		name, seed, seeded := strings.Cut(w, "=")
		if seeded && name == "random" {
			if _, err := strconv.ParseUint(seed, 10, 64); err == nil {
				continue
			}
			return fmt.Errorf("$%s has %.40q; a seed is a number from 0 to %d", EnvMode, w, uint64(math.MaxUint64))
		}
		if !slices.Contains([]string{"order", "random", "lazy", raceWord}, w) {
			return fmt.Errorf("$%s has %.40q; the emulator knows order, random, random=SEED, lazy and %s", EnvMode, w, raceWord)
		}
	}
	if m := Mode(); len(m) > mostMode {
		return fmt.Errorf("$%s has %d bytes; the emulator takes %d", EnvMode, len(m), mostMode)
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

// Compile is the path of the emulated library in the user's cache, which is made where it is not there yet, or not whole. Programs that
// need it at the same time wait for one of them.
func Compile(ctx context.Context, say func(format string, args ...any)) (string, error) {
	if say == nil {
		say = func(string, ...any) {}
	}
	c, err := plan()
	if err == nil {
		err = c.settle(ctx, say)
	}
	if err != nil {
		return "", fmt.Errorf("emulated device: %w", err)
	}
	return c.path, nil
}

// settle sees to it that the library is there.
func (c *compilation) settle(ctx context.Context, say func(format string, args ...any)) error {
	wrong := c.check()
	if !c.remade(wrong) {
		return wrong
	}
	if _, err := compiler(); err != nil {
		return joined(wrong, err)
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return unusable(err)
	}
	name := filepath.Join(c.dir, "lock")
	unlock, err := lock(ctx, name, func() { say("waiting for another program that compiles the emulated device in %s", Shown(c.dir)) })
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		return unusable(err)
	}
	if err != nil {
		return joined(wrong, err)
	}
	defer unlock()
	if _, err := backend.Trusted(name); err != nil { // a minute before the library would be refused
		return unusable(err)
	}
	if wrong = c.check(); !c.remade(wrong) {
		return wrong
	}
	if errors.Is(wrong, ErrDamaged) {
		say("compiling the emulated device anew: %v", wrong)
	} else {
		say("compiling the emulated device, once; it stays in %s", Shown(c.dir))
	}
	c.clear()
	if err := c.vacate(); err != nil {
		return err
	}
	if err := c.make(ctx); err != nil {
		return err
	}
	c.tidy()
	return nil
}

// remade reports whether what is wrong with the library ends when it is compiled.
func (c *compilation) remade(wrong error) bool {
	return !errors.Is(wrong, ErrPlace) && (errors.Is(wrong, fs.ErrNotExist) || errors.Is(wrong, ErrDamaged))
}

// joined is why something cannot be made, after why it must be where that is not that there is none.
func joined(wrong, err error) error {
	if errors.Is(wrong, ErrDamaged) {
		return fmt.Errorf("%w: %w", wrong, err)
	}
	return err
}

func plan() (*compilation, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, unusable(err)
	}
	if !filepath.IsAbs(cache) { // of a HOME that is not
		return nil, unusable(errors.New(Shown(cache) + " is not an absolute path"))
	}
	c := &compilation{dir: filepath.Join(cache, "boost-tui", "emulated"),
		flags: []string{"-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-DBT_EMU"}}
	if slices.Contains(modeWords(), raceWord) {
		c.flags = append(c.flags, "-DBT_RACECHECK")
	}
	if c.list, err = allSources(); err != nil {
		return nil, err
	}
	hash := digest(c.list, append([]string{runtime.GOARCH}, c.flags...)...)
	c.path = filepath.Join(c.dir, "libboost_emucuda-"+hash+".so")
	return c, nil
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
		return "", fmt.Errorf("%s does not tell its version: %w", Shown(path), err)
	}
	first, _, _ := strings.Cut(out, "\n")
	return Shown(strings.TrimSpace(first)) + " (" + Shown(path) + ")", nil
}

// Compiled is where the emulated library of this program is in the user's cache. The error says why it cannot be used as it is:
// fs.ErrNotExist where it has not been compiled, ErrPlace where it can be neither used nor compiled there.
func Compiled() (path string, err error) {
	c, err := plan()
	if err != nil {
		return "", err
	}
	wrong := c.check()
	if c.remade(wrong) {
		if err := c.place(); err != nil {
			return c.path, err
		}
	}
	return c.path, wrong
}
