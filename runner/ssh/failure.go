package ssh

import (
	"fmt"
	"strings"
	"unicode"
)

// Kind is what kind of failure ended an attempt to work on a host.
type Kind int

// Kinds of failures.
const (
	Failed       Kind = iota // for another reason, which Text says
	Unreachable              // refused, timed out, no route
	Unresolved               // no such name
	UnknownKey               // the host's key is not known
	ChangedKey               // the host shows another key than it used to
	Unauthorized             // none of the user's keys is taken
	BadConfig                // ssh does not take its configuration
	NoProgram                // there is no ssh here
	Lost                     // the connection ended
	NoHome                   // nowhere to put files on the host
	NoRoom                   // a file could not be written on the host
	NotRunnable              // the program cannot be executed on the host
	BadSetup                 // a line of the configuration failed that prepares the shell there
)

// Error is a failure with a host.
type Error struct {
	Host string
	Kind Kind
	Text string // ssh's or the host's own words, as they came; Error shows the last line, made harmless
}

// Error says what was wrong, where, and what to do.
func (e *Error) Error() string {
	h, text := e.Host, lastLine(e.Text)
	with := func(s string) string {
		if text == "" {
			return s
		}
		return s + " (" + text + ")"
	}
	switch e.Kind {
	case Unreachable:
		return with(fmt.Sprintf("host %s cannot be reached by ssh: is it up, and is its name right", h))
	case Unresolved:
		return with(fmt.Sprintf("host %s is not known: no such name here, nor a Host of that name in your ssh configuration", h))
	case UnknownKey:
		return fmt.Sprintf("the key of host %s is not known, and nobody is asked here: run `ssh %s` once and accept the key, or add it to your known_hosts", h, h)
	case ChangedKey:
		return fmt.Sprintf("host %s shows another key than it used to: it was set up anew, or somebody stands in between. If you know why, remove the old key with `ssh-keygen -R %s`", h, h)
	case Unauthorized:
		return with(fmt.Sprintf("host %s takes none of your keys, and no password is ever asked for: load a key into your agent with ssh-add, or name one by IdentityFile in your ssh configuration", h))
	case BadConfig:
		return with(fmt.Sprintf("ssh does not take its configuration (for host %s): mend the file or the option that it names", h))
	case NoProgram:
		return with("there is no ssh on this machine: install openssh-client")
	case Lost:
		return with(fmt.Sprintf("the connection to host %s was lost", h))
	case NoHome:
		return with(fmt.Sprintf("host %s has no folder for this program: the user's home there is missing, cannot be written to, or is full; XDG_CACHE_HOME in the environment that ssh gives can name another place", h))
	case NoRoom:
		return with(fmt.Sprintf("host %s cannot keep this program's files: free some space there, or set XDG_CACHE_HOME in the environment that ssh gives", h))
	case NotRunnable:
		return with(fmt.Sprintf("host %s cannot execute this program: is the file system that it lies on mounted noexec, or is the machine of another kind", h))
	case BadSetup:
		return fmt.Sprintf("host %s: %s", h, text)
	}
	return with(fmt.Sprintf("host %s: what ssh was to do failed", h))
}

// Passing reports whether the same may succeed a moment later.
func (e *Error) Passing() bool { return e.Kind == Unreachable || e.Kind == Lost || e.Kind == Failed }

// marks of ssh's messages, the more telling ones first.
var marks = []struct {
	text string
	kind Kind
}{
	{"HOST IDENTIFICATION HAS CHANGED", ChangedKey},
	{"Host key verification failed", UnknownKey},
	{"Bad configuration option", BadConfig},
	{"bad configuration options", BadConfig},
	{"Can't open user config file", BadConfig},
	{"Bad owner or permissions on", BadConfig},
	{"missing argument", BadConfig},
	{"Permission denied (", Unauthorized},
	{"Too many authentication failures", Unauthorized},
	{"Could not resolve hostname", Unresolved},
	{"Connection refused", Unreachable},
	{"Connection timed out", Unreachable},
	{"Operation timed out", Unreachable},
	{"No route to host", Unreachable},
	{"Network is unreachable", Unreachable},
	{"Host is down", Unreachable},
	{"Connection closed by", Unreachable},
	{"Connection reset by", Unreachable},
	{"kex_exchange_identification", Unreachable},
	{"not responding", Lost},
	{"Broken pipe", Lost},
}

// classify says what ssh's own words mean.
func classify(text string) Kind {
	for _, m := range marks {
		if strings.Contains(text, m.text) {
			return m.kind
		}
	}
	return Failed
}

// lastLine is the last line of a text that says anything, without what ssh puts before it.
func lastLine(text string) string {
	last := ""
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			last = line
		}
	}
	if len(last) > 300 {
		last = last[:300]
	}
	return strings.TrimPrefix(plain(last), "ssh: ")
}

// plain makes a line that somebody else wrote harmless: no control characters, no broken text.
func plain(line string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(line, "?"))
}

// Mistaken reports whether the user has named what there is not, as opposed to a host that does not answer now.
func (e *Error) Mistaken() bool {
	return e.Kind == BadSetup || e.Kind == Unresolved && !strings.Contains(e.Text, "Temporary failure")
}
