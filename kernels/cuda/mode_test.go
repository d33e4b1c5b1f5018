package cuda

import (
	"strings"
	"testing"
)

// What the check lets pass the emulator takes, in the one form that it is handed; the rest is refused before anything starts.
func TestModes(t *testing.T) {
	good := map[string]string{"": "", "order": "order", "random": "random", "random=7 lazy": "random=7 lazy", "random=0": "random=0", "lazy,random=3": "lazy random=3",
		" lazy\t,\n random ": "lazy random", "racecheck": "", "racecheck,random=007": "random=007", "random=18446744073709551615": "random=18446744073709551615"}
	for text, want := range good {
		t.Setenv(EnvMode, text)
		if err := CheckMode(); err != nil || Mode() != want {
			t.Errorf("%q: %q, %v", text, Mode(), err)
		}
	}
	for text, want := range map[string]string{"random=-1": "a seed is", "random=+1": "a seed is", "random=": "a seed is", "random=1e3": "a seed is", "random=0x7": "a seed is",
		"random=18446744073709551616": "a seed is", "lazy,random=-1": "a seed is", "Lazy": "the emulator knows", "lazy=1": "the emulator knows", "cc=7.0": "the emulator knows",
		"lazy;random": "the emulator knows", "\x1b[2J": `"\x1b[2J"`, strings.Repeat("lazy ", 20): "99 bytes; the emulator takes 63"} {
		t.Setenv(EnvMode, text)
		if err := CheckMode(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%q: %v", text, err)
		}
	}
	t.Setenv(EnvMode, "")
	l := emulator(t)
	for text, mode := range good {
		d, err := l.Open(Options{Mode: mode})
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	// What it alone knows are machines to be, for its own tests.
	for _, mode := range []string{"lazy=1", "random=x", "nonsense"} {
		if d, err := l.Open(Options{Mode: mode}); err == nil {
			t.Errorf("%q was taken: %v", mode, d.Close())
		}
	}
}

// What the library is handed by others it takes apart as strictly.
func TestModesThatTheLibraryRefuses(t *testing.T) {
	t.Setenv(EnvMode, "")
	l := emulator(t)
	for _, text := range []string{"random=18446744073709551616", "random=-1", "random=+1", "random=0x1", "random=1_0", "random=1e3", "random=",
		"random= 1", "random=1,lazy", "order,lazy", ",", "Order", "lazy=1", "order=", "slow"} {
		if d, err := l.Open(Options{Mode: text}); err == nil {
			t.Errorf("%q is taken", text)
			_ = d.Close()
		} else if !strings.Contains(err.Error(), "mode ") {
			t.Errorf("%q: %v", text, err)
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
