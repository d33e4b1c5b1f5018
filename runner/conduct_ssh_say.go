package runner

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"boost-tui/runner/ssh"
)

// hostsError is what is wrong with several hosts: one line of all of it.
type hostsError []error

func (e hostsError) Unwrap() []error { return e }

func (e hostsError) Error() string {
	texts := make([]string, len(e))
	for i, err := range e {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

// shownHosts is how many hosts are told about each by itself.
const shownHosts = 3

// sayHosts puts together what is wrong with hosts, the first ones first. What is true of this machine comes with every host and is
// told once. nil: nothing is wrong.
func sayHosts(bad []error) error {
	var told hostsError
	unknown := false
	for _, err := range bad {
		var e *ssh.Error
		if errors.As(err, &e) && e.Mistaken() {
			unknown = true
		}
		if !slices.ContainsFunc(told, func(other error) bool { return other.Error() == err.Error() }) {
			told = append(told, err)
		}
	}
	if more := len(told) - shownHosts; more > 0 {
		told = append(told[:shownHosts:shownHosts], fmt.Errorf("and %d more hosts", more))
	}
	var err error = told
	switch {
	case len(told) == 0:
		return nil
	case len(told) == 1:
		err = told[0]
	}
	if unknown { // nobody but the user can mend it
		return &refusedError{err}
	}
	return err
}
