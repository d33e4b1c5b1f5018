package ssh

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"boost-tui/internal/tool"
)

// EnvConfig names an ssh_config to use in place of the user's own.
const EnvConfig = "BOOST_SSH_CONFIG"

// How soon a connection counts as broken: a cut is noticed within about 5 s (aliveEvery × (aliveMissed+1) at most).
const (
	aliveEvery     = 2  // seconds
	aliveMissed    = 2  // in a row
	connectSeconds = 10 // to connect; a host behind a jump needs more than one round trip
)

// Config is how hosts are reached. Its zero value is the user's own ssh, without a shared connection.
type Config struct {
	Program string   // empty: ssh
	File    string   // ssh_config in place of the user's; empty: the user's own
	Options []string // of the user's configuration of this program: "-oPort=2222", one argument each
	Old     bool     // the ssh here knows no RemoteCommand (IsOld)
	Control string   // private folder for sockets of shared connections; empty: none is shared
}

// args are the arguments before the host. master makes the connection that others share.
func (c Config) args(master bool) []string {
	var a []string
	if c.File != "" {
		a = append(a, "-F", c.File)
	}
	share, path := "no", "none"
	if c.Control != "" {
		path = filepath.Join(c.Control, "%C")
		if master {
			share = "yes"
		}
	}
	// The first value counts for ssh, so ours come before the user's.
	for _, o := range []string{
		"BatchMode=yes", // no password, passphrase or question, ever
		"ControlMaster=" + share, "ControlPath=" + path, "ControlPersist=no",
		"ServerAliveInterval=" + strconv.Itoa(aliveEvery), "ServerAliveCountMax=" + strconv.Itoa(aliveMissed),
		"ConnectTimeout=" + strconv.Itoa(connectSeconds),
		// What the user's configuration does for a session of theirs is nothing for this one.
		"RequestTTY=no", "ClearAllForwardings=yes", "ForwardAgent=no", "ForwardX11=no", "PermitLocalCommand=no", "EscapeChar=none",
		"LogLevel=ERROR", // what went wrong is needed, whatever the user wants to see
	} {
		a = append(a, "-o"+o)
	}
	if !c.Old {
		a = append(a, "-oRemoteCommand=none")
	}
	return append(a, c.Options...)
}

func (c Config) program() string {
	if c.Program == "" {
		return "ssh"
	}
	return c.Program
}

// IsOld reports whether the ssh here is older than OpenSSH 7.6, which brought RemoteCommand: an option that it does not know is an
// error. Clusters keep their systems for long.
func (c Config) IsOld(ctx context.Context) bool {
	text, err := tool.Ask(ctx, versionPatience, maxVersion, c.program(), "-V")
	return err == nil && isOld(text)
}

const (
	// versionPatience is how long ssh may take to say its version.
	versionPatience = 5 * time.Second
	maxVersion      = 4 << 10 // bytes
)

func isOld(text string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(text, "OpenSSH_%d.%d", &major, &minor); err != nil {
		return false // another ssh, or a version that came later
	}
	return major < 7 || major == 7 && minor < 6
}

// environment is that of ssh: it must not open a window to ask in either.
func environment() []string { return append(os.Environ(), "SSH_ASKPASS_REQUIRE=never") }

const (
	controlPrefix = "boost-tui-ssh-"
	// maxControl is how long the folder of sockets may be called: the kernel's 108 bytes, less the 41 of ssh's own name
	// and the 18 that it adds while it binds.
	maxControl = 108 - 41 - 18
	// controlStale is the age from which the folder of a process that is gone is removed: one that is not seen here, in another
	// container, has its connections by then.
	controlStale = time.Minute
)

// ControlFolder makes a private folder for the sockets of shared connections, where a name of theirs fits, and removes what
// killed processes of this user have left. Where none can be made nothing is shared: folder is empty.
func ControlFolder() (folder string, remove func() error) {
	for _, parent := range controlParents() {
		tidyControl(parent)
		dir, err := os.MkdirTemp(parent, controlPrefix+strconv.Itoa(os.Getpid())+"-")
		if err != nil {
			continue
		}
		if len(dir) <= maxControl {
			return dir, func() error { return os.RemoveAll(dir) }
		}
		_ = os.Remove(dir) // empty; a longer name than ssh takes
	}
	return "", func() error { return nil }
}

// controlParents are where such a folder may lie.
func controlParents() (parents []string) {
	for _, p := range []string{os.Getenv("XDG_RUNTIME_DIR"), os.TempDir(), "/tmp"} {
		if p = filepath.Clean(p); filepath.IsAbs(p) && !slices.Contains(parents, p) {
			parents = append(parents, p)
		}
	}
	return parents
}

// Left are the folders of sockets that killed processes of this user have left.
func Left() (dirs []string) {
	for _, parent := range controlParents() {
		dirs = append(dirs, leftIn(parent)...)
	}
	return dirs
}

// tidyControl is no one's errand: what fails is tried again another time.
func tidyControl(parent string) {
	for _, dir := range leftIn(parent) {
		_ = os.RemoveAll(dir)
	}
}

// leftIn is Left of one parent.
func leftIn(parent string) (left []string) {
	dirs, err := filepath.Glob(filepath.Join(parent, controlPrefix+"*"))
	if err != nil {
		return nil
	}
	for _, dir := range dirs {
		st, err := os.Lstat(dir)
		if err != nil || !st.IsDir() || time.Since(st.ModTime()) < controlStale {
			continue
		}
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), controlPrefix), "-")
		if _, err := strconv.Atoi(pid); err != nil {
			continue
		}
		if _, err := os.Stat("/proc/" + pid); err == nil {
			continue
		}
		if sys, ok := st.Sys().(*syscall.Stat_t); ok && int(sys.Uid) == os.Geteuid() && !answers(dir) {
			left = append(left, dir)
		}
	}
	return left
}
