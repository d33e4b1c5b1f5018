package runner

import (
	"errors"
	"fmt"
	"testing"

	"boost-tui/runner/ssh"
)

func TestSayHosts(t *testing.T) {
	gone := func(h string) error { return fmt.Errorf("host %s is gone", h) }
	for _, c := range []struct {
		bad     []error
		want    string
		refused bool
	}{
		{nil, "", false},
		{[]error{gone("a")}, "host a is gone", false},
		{[]error{gone("a"), gone("b")}, "host a is gone; host b is gone", false},
		{[]error{gone("a"), gone("b"), gone("c"), gone("d"), gone("e")}, "host a is gone; host b is gone; host c is gone; and 2 more hosts", false},
		{[]error{&ssh.Error{Host: "a", Kind: ssh.NoProgram}, &ssh.Error{Host: "b", Kind: ssh.NoProgram}}, "there is no ssh on this machine: install openssh-client", false},
		{[]error{gone("a"), &ssh.Error{Host: "b", Kind: ssh.Unresolved}},
			"host a is gone; host b is not known: no such name here, nor a Host of that name in your ssh configuration", true},
		{[]error{&ssh.Error{Host: "b", Kind: ssh.Unresolved, Text: "Temporary failure in name resolution"}},
			"host b is not known: no such name here, nor a Host of that name in your ssh configuration (Temporary failure in name resolution)", false},
	} {
		err := sayHosts(c.bad)
		if text := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && text != c.want || errors.Is(err, ErrRefused) != c.refused {
			t.Errorf("%v: %v", c.bad, err)
		}
	}
}
