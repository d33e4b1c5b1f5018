package ssh

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Bounds of what names hosts.
const (
	MaxHosts     = 1024    // their names must fit into a run's record
	maxHostBytes = 255     // of a DNS name; nobody needs a longer user@host
	maxFileBytes = 1 << 20 // of a host file
	maxShown     = 60      // runes of a refused name in an error
)

// Hosts gives the machines that a value names: separated by commas, or a file that names one a line (# begins a comment).
// A value with a slash in it is a file, and so is one without a comma that a file is called. No machine is named twice.
func Hosts(value string) ([]string, error) {
	if value == "" {
		return nil, errors.New("no hosts are named: say --hosts node1,node2 or --hosts FILE")
	}
	if isFile(value) {
		data, err := readHostFile(value)
		if err != nil {
			return nil, fmt.Errorf("host file %s: %w", shown(value), err)
		}
		hosts, err := ParseFile(data)
		if err != nil {
			return nil, fmt.Errorf("host file %s: %w", shown(value), err)
		}
		return hosts, nil
	}
	return ParseList(value)
}

// ParseList gives the hosts of a list with commas.
func ParseList(list string) ([]string, error) { return distinct(strings.Split(list, ",")) }

// ParseFile gives the hosts of a file's content: one a line; empty lines and what follows a # are left out.
func ParseFile(data []byte) ([]string, error) {
	var names []string
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			names = append(names, line)
		}
	}
	if len(names) == 0 {
		return nil, errors.New("it names no host: write one a line")
	}
	return distinct(names)
}

func distinct(names []string) ([]string, error) {
	if len(names) > MaxHosts {
		return nil, fmt.Errorf("%d hosts are more than %d", len(names), MaxHosts)
	}
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if err := CheckHost(name); err != nil {
			return nil, err
		}
		if seen[name] {
			return nil, fmt.Errorf("host %s is named twice: name each host once, its ranks are shared out", name)
		}
		seen[name] = true
	}
	return names, nil
}

// CheckHost refuses what is no name that ssh could be given: a host, user@host, an address, or a Host of the user's
// configuration. It becomes an argument of ssh, and of records.
func CheckHost(name string) error {
	switch {
	case name == "":
		return errors.New("a host has no name: is there a comma too many?")
	case len(name) > maxHostBytes:
		return fmt.Errorf("host %q is no name: it is longer than %d bytes", shown(name), maxHostBytes)
	case name[0] == '-':
		return fmt.Errorf("host %q is no name: it begins like an option", shown(name))
	}
	for i := range len(name) {
		if !hostByte(name[i]) {
			return fmt.Errorf("host %q is no name: a host is made of letters, digits and . - _ : %% @ only, one of them a line or between commas", shown(name))
		}
	}
	user, host, both := strings.Cut(name, "@")
	if both && (user == "" || host == "" || host[0] == '-' || strings.Contains(host, "@")) {
		return fmt.Errorf("host %q is no name: say USER@HOST", shown(name))
	}
	return nil
}

func hostByte(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	return strings.IndexByte(".-_:%@", c) >= 0
}

// isFile reports whether a value means a file of hosts.
func isFile(value string) bool {
	if strings.ContainsRune(value, '/') {
		return true
	}
	if strings.ContainsRune(value, ',') {
		return false
	}
	st, err := os.Stat(value)
	return err == nil && !st.IsDir()
}

// readHostFile reads a regular file; it waits for nobody at the other end of anything else.
func readHostFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(data) > maxFileBytes {
		err = fmt.Errorf("it is longer than %d bytes", maxFileBytes)
	}
	return data, err
}

// shown shortens what an error quotes.
func shown(s string) string {
	s = plain(s)
	if utf8.RuneCountInString(s) <= maxShown {
		return s
	}
	return string([]rune(s)[:maxShown]) + "…"
}
