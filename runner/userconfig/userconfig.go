// Package userconfig reads what a user has set for all of their runs: $XDG_CONFIG_HOME/boost-tui/config.toml.
//
// Lines in it become part of scripts that run as the user. So it is the only place that such lines come from, and a file that somebody
// else could have written is refused: it must belong to the user, and neither it nor its folder may be writable by others.
//
// Start reading at Config, then Load.
package userconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"boost-tui/internal/regular"

	"github.com/BurntSushi/toml"
	"golang.org/x/sys/unix"
)

// Config is the file. Everything is optional.
type Config struct {
	Path  string           `toml:"-"` // where it was read from; empty: there is none
	Slurm Slurm            `toml:"slurm"`
	Setup map[string]Setup `toml:"setup"` // by name: the key `setup` of an experiment picks one
	SSH   SSH              `toml:"ssh"`
	Place Place            `toml:"place"`
}

// Slurm is [slurm]: what jobs ask for where the experiment does not say, and lines for their script.
type Slurm struct {
	Account    string   `toml:"account"`
	Partition  string   `toml:"partition"`
	QOS        string   `toml:"qos"`
	Constraint string   `toml:"constraint"`
	Time       string   `toml:"time"`
	Lines      []string `toml:"lines"` // each begins with #SBATCH
}

// Setup is [setup.NAME]: how a node is prepared before the program starts there. Variables are set first.
type Setup struct {
	Lines []string          `toml:"lines"` // of a shell, like "module load cuda"
	Env   map[string]string `toml:"env"`
}

// SSH is [ssh].
type SSH struct {
	Options []string `toml:"options"` // of ssh, each an argument like "-oPort=2222"
}

// Place is [place]: what goes for runs on other machines.
type Place struct {
	Interface        string `toml:"interface"`
	HeartbeatTimeout int    `toml:"heartbeat-timeout"` // seconds
}

const (
	// maxBytes bounds the file.
	maxBytes = 1 << 20
	// maxLine bounds a line of a script, as sbatch does.
	maxLine = 1024
)

// Path is where the file is, whether it exists or not.
func Path() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the user's configuration: %w: set $XDG_CONFIG_HOME or $HOME", err)
	}
	return filepath.Join(dir, "boost-tui", "config.toml"), nil
}

// Load reads the user's file. Where there is none, everything is empty.
func Load() (Config, error) {
	path, err := Path()
	if err != nil {
		return Config{}, nil // a user without a home has set nothing
	}
	return LoadFile(path)
}

// LoadFile is Load for a file of another name.
func LoadFile(path string) (Config, error) {
	f, err := regular.Follow(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Config{}, nil
	}
	if err != nil {
		return Config{}, fmt.Errorf("read the user's configuration: %w", err)
	}
	if err := trusted(f, path); err != nil {
		return Config{}, errors.Join(err, f.Close())
	}
	data, err := regular.ReadAll(f, path, maxBytes)
	if err != nil {
		return Config{}, fmt.Errorf("read the user's configuration: %w", err)
	}
	c, err := Parse(string(data))
	if err != nil {
		return Config{}, fmt.Errorf("%s: %w", path, err)
	}
	c.Path = path
	return c, nil
}

// trusted refuses a file that somebody else could have written. A link is as good as what it leads to, which is what was opened.
func trusted(f *os.File, path string) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if err := mine(st, path); err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	for _, dir := range slices.Compact([]string{filepath.Dir(path), filepath.Dir(real)}) {
		if err := unix.Stat(dir, &st); err != nil {
			return fmt.Errorf("read %s: %w", dir, err)
		}
		if err := mine(st, dir); err != nil {
			return err
		}
	}
	return nil
}

func mine(st unix.Stat_t, path string) error {
	if me := os.Geteuid(); int(st.Uid) != me && st.Uid != 0 {
		return fmt.Errorf("%s belongs to user %d, not to you (%d): lines in it would run as you, so it is not used; make it yours or move it away", path, st.Uid, me)
	}
	if st.Mode&0o022 != 0 && (st.Mode&unix.S_IFMT != unix.S_IFDIR || st.Mode&unix.S_ISVTX == 0) {
		return fmt.Errorf("%s can be written by others: lines in it would run as you, so it is not used; chmod go-w %s", path, path)
	}
	return nil
}

// Parse reads the text of a file.
func Parse(text string) (Config, error) {
	var c Config
	meta, err := toml.Decode(text, &c)
	if err != nil {
		return Config{}, err
	}
	if left := meta.Undecoded(); len(left) > 0 {
		return Config{}, fmt.Errorf("%s is not known: there are [slurm] account partition qos constraint time lines, [setup.NAME] lines env, [ssh] options, "+
			"[place] interface heartbeat-timeout", left[0])
	}
	return c, c.check()
}

// variable is a name that a shell can set.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (c Config) check() error {
	for name, v := range map[string]string{"account": c.Slurm.Account, "partition": c.Slurm.Partition, "qos": c.Slurm.QOS, "constraint": c.Slurm.Constraint, "time": c.Slurm.Time} {
		if err := oneLine(v); err != nil {
			return fmt.Errorf("[slurm] %s: %w", name, err)
		}
	}
	for i, line := range c.Slurm.Lines {
		if err := oneLine(line); err != nil {
			return fmt.Errorf("[slurm] lines, number %d: %w", i+1, err)
		}
		if !strings.HasPrefix(line, "#SBATCH ") && !strings.HasPrefix(line, "#SBATCH\t") {
			return fmt.Errorf("[slurm] lines, number %d: %.60q does not begin with #SBATCH: lines of a shell belong into [setup.NAME]", i+1, line)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Setup)) {
		if err := c.Setup[name].check(); err != nil {
			return fmt.Errorf("[setup.%s] %w", name, err)
		}
	}
	for i, o := range c.SSH.Options {
		if err := oneLine(o); err != nil || !strings.HasPrefix(o, "-") {
			return fmt.Errorf("[ssh] options, number %d: %.60q is no option of ssh: write it as one argument, like \"-oPort=2222\"", i+1, o)
		}
	}
	if t := c.Place.HeartbeatTimeout; t != 0 && (t < 3 || t > 3600) {
		return fmt.Errorf("[place] heartbeat-timeout: %d s, it can be from 3 to 3600", t)
	}
	return nil
}

func (s Setup) check() error {
	for i, line := range s.Lines {
		if err := oneLine(line); err != nil {
			return fmt.Errorf("lines, number %d: %w", i+1, err)
		}
		if strings.HasPrefix(strings.TrimSpace(line), "#SBATCH") {
			return fmt.Errorf("lines, number %d: lines for sbatch belong into [slurm], where they come before all others", i+1)
		}
	}
	for name, value := range s.Env {
		if !variable.MatchString(name) {
			return fmt.Errorf("env: %.60q is no name of a variable", name)
		}
		if strings.ContainsRune(value, 0) {
			return fmt.Errorf("env: the value of %s holds a zero byte", name)
		}
	}
	return nil
}

// oneLine refuses what would be more than a line of a script, or could not be read in one.
func oneLine(s string) error {
	if len(s) > maxLine {
		return fmt.Errorf("it has %d bytes, a line may have %d", len(s), maxLine)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f || r == '�' }) {
		return errors.New("it holds a line break or another control character: write one line as one string")
	}
	return nil
}

// Named is a setup by its name. The empty name is none.
func (c Config) Named(name string) (Setup, error) {
	if name == "" {
		return Setup{}, nil
	}
	if s, ok := c.Setup[name]; ok {
		return s, nil
	}
	where := c.Path
	if where == "" {
		if p, err := Path(); err == nil {
			where = p + " (which is not there)"
		}
	}
	known := "it has none"
	if len(c.Setup) > 0 {
		known = "it has " + strings.Join(slices.Sorted(maps.Keys(c.Setup)), ", ")
	}
	return Setup{}, fmt.Errorf("setup %.60q is not in %s; %s", name, where, known)
}
