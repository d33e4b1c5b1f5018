package cuda

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// What the program takes as a mode of the emulator the library takes, and what one refuses the other does.
func TestModesThatTheLibraryKnows(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the library; the race detector does not see into it")
	}
	t.Setenv(EnvMode, "")
	l, err := Emulator(context.Background(), t.Logf)
	if errors.Is(err, ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for text, good := range map[string]bool{
		"":                                true,
		" ":                               true,
		"order":                           true,
		"random":                          true,
		"lazy":                            true,
		"random=0":                        true,
		"random=7 lazy":                   true,
		"\tlazy\n random=7 ":              true,
		"random=007":                      true,
		"random=18446744073709551615":     true,
		"lazy lazy order random random=1": true,
		"random=18446744073709551616":     false,
		"random=99999999999999999999999":  false,
		"random=-1":                       false,
		"random=+1":                       false,
		"random=0x1":                      false,
		"random=1_0":                      false,
		"random=1e3":                      false,
		"random=":                         false,
		"random= 1":                       false,
		"random=1,lazy":                   false,
		"order,lazy":                      false,
		"order, lazy":                     false,
		",":                               false,
		"Order":                           false,
		"lazy=1":                          false,
		"order=":                          false,
		"slow":                            false,
	} {
		t.Setenv(EnvMode, text)
		check := CheckMode()
		if (check == nil) != good {
			t.Errorf("%q: the program says %v", text, check)
		}
		d, err := l.Open(Options{Mode: Mode()})
		if (err == nil) != good {
			t.Errorf("%q: the library says %v", text, err)
		}
		if err != nil && !strings.Contains(err.Error(), "mode ") {
			t.Errorf("%q: %v", text, err)
		}
		if err == nil {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// The stand-ins of the emulated device stay, whatever libraries the cuda device is to take.
func TestEmulatedKeepsItsStandIns(t *testing.T) {
	for _, path := range []string{"", "/nonexistent/lib.so", "relative.so"} {
		t.Setenv("BOOST_CUBLASLT", path)
		t.Setenv("BOOST_NCCL", path)
		d := device(t, "")
		if _, err := d.UID(); err != nil {
			t.Errorf("%q: %v", path, err)
		}
	}
}
