package cuda

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Whatever a library does when it is opened or asked, who asks lives and has one line that names it.
func TestBadLibraries(t *testing.T) {
	const long = 5 * time.Minute // for a machine that has other things to do
	for name, c := range map[string]struct {
		flags  []string
		within time.Duration
		want   []string
		device bool // the fault is of the opening of a device
	}{
		"aborts":             {[]string{"-DAT_ONCE=abort()"}, long, []string{"crashes (aborted) when it is opened"}, false},
		"faults":             {[]string{"-DAT_ONCE=*(volatile int *)16 = 1"}, long, []string{"crashes (segmentation fault) when it is opened"}, false},
		"divides":            {[]string{"-DAT_ONCE=raise(8)", "-include", "signal.h"}, long, []string{"crashes (floating point exception)"}, false},
		"ends":               {[]string{"-DAT_ONCE=exit(0)"}, long, []string{"ends the process (exit code 0) when it is opened"}, false},
		"ends with 3":        {[]string{"-DAT_ONCE=_exit(3)"}, long, []string{"ends the process (exit code 3)"}, false},
		"hangs":              {[]string{"-DAT_ONCE=for (;;) pause()"}, time.Second, []string{"does not answer within 1s when it is opened"}, false},
		"forks and hangs":    {[]string{"-DAT_ONCE=fork(); for (;;) pause()"}, time.Second, []string{"does not answer within 1s when it is opened"}, false},
		"prints without end": {[]string{"-DAT_ONCE=for (;;) puts(\"\\33[2J\")"}, long, []string{"prints without an end, printing"}, false},
		"prints and aborts":  {[]string{"-DAT_ONCE=fputs(\"\\33[31mred\\nlines\", stderr); abort()"}, long, []string{`crashes (aborted), printing "\x1b[31mred\nlines", when`}, false},
		"wild table":         {[]string{"-DREFUSE=16"}, long, []string{"crashes (segmentation fault) when it is opened"}, false},
		"crashes later":      {[]string{"-DAT_PROBE=abort()"}, long, []string{"crashes (aborted) when it is asked what it needs"}, false},
		"has too many GPUs":  {[]string{"-DDEVICES=100000"}, long, []string{"says that there are 100000 GPUs"}, false},
		"has too few GPUs":   {[]string{"-DDEVICES=-5"}, long, []string{"says that there are -5 GPUs"}, false},
		"crashes at last":    {[]string{"-DAT_OPEN=abort()"}, long, []string{"crashes (aborted) when it opens a device"}, true},
		"does not open":      {[]string{"-DAT_OPEN=return BT_ENOMEM"}, long, []string{"open the cuda device"}, true},
		"is not ours":        {[]string{"-DNO_SYMBOL"}, long, []string{"has no function bt_backend"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			path := library(t, c.flags...)
			a := Examine(t.Context(), Question{Library: path, Name: Name, Open: &Options{}, Within: c.within})
			err, other := a.NoLibrary, a.NoDevice
			if c.device {
				err, other = other, err
			}
			if err == nil || other != nil || a.NoDriver != nil {
				t.Fatalf("%+v", a)
			}
			if !c.device {
				c.want = append(c.want, path, "cuda device: ")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not say %q", err, want)
				}
			}
			if strings.ContainsAny(err.Error(), "\n\x1b\a") {
				t.Errorf("not a line for a terminal: %q", err)
			}
		})
	}
}

// A library that does its work is asked as in this process, and what it prints is nobody's.
func TestGoodLibraryIsAsked(t *testing.T) {
	path := library(t, `-DAT_ONCE=fputs("\33[31mred", stderr)`)
	a := Examine(t.Context(), Question{Library: path, Name: Name, Open: &Options{}})
	if a.NoLibrary != nil || a.NoDevice != nil || a.Probe.Devices != 1 || len(a.Probe.Findings) != 2 || a.Probe.Findings[0].Value != "13.0 (/lib/libcuda.so.1)" {
		t.Errorf("%+v", a)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if a := Examine(ctx, Question{Library: path, Name: Name}); a.NoLibrary == nil || !strings.Contains(a.NoLibrary.Error(), "canceled") {
		t.Errorf("%+v", a)
	}
}

// The libraries that ours opens are told apart: the one that somebody has named, and that takes the process down, is named.
func TestNamedLibraryIsBlamed(t *testing.T) {
	opens := "-DAT_PROBE=dlopen(getenv(\"BOOST_NCCL\"), RTLD_NOW)"
	fine, bad := library(t), library(t, "-DAT_ONCE=abort()")
	path := library(t, opens)
	t.Setenv(EnvCUBLASLt, fine)
	t.Setenv(EnvNCCL, bad)
	a := Examine(t.Context(), Question{Library: path, Name: Name})
	if a.NoLibrary == nil || !strings.Contains(a.NoLibrary.Error(), "library "+bad+", which $BOOST_NCCL names, crashes (aborted) when it is opened") {
		t.Errorf("%+v", a)
	}
	// The emulated device has its own.
	if a := Examine(t.Context(), Question{Library: library(t, "-DAT_PROBE=if (getenv(\"BOOST_NCCL\")) abort()"), Name: EmulatedName}); a.NoLibrary != nil {
		t.Errorf("%+v", a)
	}
}

// The driver's library is asked in a process of its own, too, and where there is none no process is.
func TestBadDriver(t *testing.T) {
	t.Setenv("LD_PRELOAD", "")
	for name, c := range map[string]struct {
		flag, want string
	}{
		"aborts":     {"-DAT_ONCE=abort()", "libcuda.so.1 crashes (aborted) when it is asked which GPUs there are"},
		"ends":       {"-DAT_ONCE=exit(0)", "libcuda.so.1 ends the process (exit code 0)"},
		"no symbols": {"-DFINE", ErrNoDriver.Error()},
	} {
		dir := filepath.Dir(library(t, c.flag))
		if err := os.Rename(filepath.Join(dir, LibraryName), filepath.Join(dir, driverName)); err != nil {
			t.Fatal(err)
		}
		t.Setenv("LD_LIBRARY_PATH", "/nowhere:"+dir)
		if NoDriver() {
			t.Errorf("%s: not found", name)
		}
		if _, err := FindDriver(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestShown(t *testing.T) {
	for text, want := range map[string]string{"/a b/ü": "/a b/ü", "/a\x1b[2J": `"/a\x1b[2J"`, "a\nb": `"a\nb"`, "a\xff": `"a\xff"`, "a\u202eb": `"a\u202eb"`} {
		if got := Shown(text); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}
