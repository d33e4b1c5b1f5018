package cpu

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"boost-tui/kernels"
	"boost-tui/kernels/backend"
)

func TestChoiceOfBLAS(t *testing.T) {
	t.Setenv("BOOST_BLAS", Gonum)
	if l := open(t, Options{}).Info().Libraries; !strings.HasPrefix(l[0], "gonum") {
		t.Errorf("BOOST_BLAS=gonum: %v", l)
	}
	for _, bad := range []string{"libopenblas.so.0", "./libopenblas.so.0", "/nonexistent/libx.so", "/proc/self/exe"} {
		t.Setenv("BOOST_BLAS", bad)
		if _, err := Open(Options{}); !errors.Is(err, kernels.ErrUnsupported) {
			t.Errorf("BOOST_BLAS=%s: %v", bad, err)
		}
	}
	t.Setenv("BOOST_BLAS", "")
	found := open(t, Options{}).Info().Libraries[0]
	if strings.HasPrefix(found, "gonum") {
		t.Skip("no CBLAS library on this machine")
	}
	path := found[strings.LastIndex(found, "(")+1 : len(found)-1]
	t.Setenv("BOOST_BLAS", path)
	if l := open(t, Options{}).Info().Libraries[0]; l != found {
		t.Errorf("BOOST_BLAS=%s: %s, found by itself %s", path, l, found)
	}
}

func TestTrusted(t *testing.T) {
	home, err := os.UserCacheDir()
	if err == nil {
		err = os.MkdirAll(home, 0o700)
	}
	if err != nil {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp(home, "boost-trusted-")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(dir)
	if _, err := backend.Trusted(dir); err != nil {
		t.Skipf("the cache folder is not trusted itself: %v", err)
	}
	file := filepath.Join(dir, "sub", "lib.so")
	err = errors.Join(os.Mkdir(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o644), os.Symlink(file, filepath.Join(dir, "link.so")))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := backend.Trusted(filepath.Join(dir, "link.so")); err != nil || got != file {
		t.Errorf("link resolved to %s, %v", got, err)
	}
	for _, c := range []struct {
		path string
		mode os.FileMode
	}{{file, 0o646}, {filepath.Dir(file), 0o777}, {filepath.Dir(file), 0o777 | os.ModeSticky}, {dir, 0o703}} {
		st, _ := os.Stat(c.path)
		os.Chmod(c.path, c.mode)
		if _, err := backend.Trusted(file); err == nil || !strings.Contains(err.Error(), c.path) {
			t.Errorf("%s with mode %v is trusted: %v", c.path, c.mode, err)
		}
		os.Chmod(c.path, st.Mode())
	}
	if os.Getuid() == 0 {
		os.Chown(file, 12345, 0)
		if _, err := backend.Trusted(file); err == nil || !strings.Contains(err.Error(), "somebody else") {
			t.Errorf("another user's file is trusted: %v", err)
		}
	}
}
