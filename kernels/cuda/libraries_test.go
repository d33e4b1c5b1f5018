package cuda

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"boost-tui/kernels/backend"
)

// emptied is a folder to put libraries into, in an environment that leads to none.
func emptied(t *testing.T) string {
	t.Helper()
	for _, v := range []string{"VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "NCCL_HOME", "BOOST_CUBLASLT", "BOOST_NCCL", EnvLibrary} {
		t.Setenv(v, "")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	t.Setenv("XDG_DATA_HOME", filepath.Join(dir, "data"))
	return dir
}

// put makes a file that is no library: none is opened.
func put(t *testing.T, dir string, path ...string) string {
	t.Helper()
	file := filepath.Join(append([]string{dir}, path...)...)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const site = "lib/python3.11/site-packages"

// Where libraries are looked for, from the last place to the first: each is preferred to those before.
func TestPlacesOfLibraries(t *testing.T) {
	dir := emptied(t)
	const lt, other = "libcublasLt.so.12", "libcublasLt.so.13"
	for _, c := range []struct{ variable, value, file, nccl string }{
		{"CUDA_PATH", dir + "/path", "path/lib/" + lt, ""},
		{"CUDA_HOME", dir + "/home", "home/lib64/" + lt, "home/lib/libnccl.so.2"},
		{"NCCL_HOME", dir + "/nccl", "", "nccl/lib64/libnccl.so.2"},
		{"LD_LIBRARY_PATH", "relative::" + dir + "/none:" + dir + "/ld", "ld/" + lt, "ld/libnccl.so.2"},
		{"", "", "ld/" + other, ""},
		{"CONDA_PREFIX", dir + "/conda", "conda/lib/" + lt, "conda/lib/libnccl.so.2"},
		{"", "", "conda/" + site + "/nvidia/cublas/lib/" + lt, "conda/" + site + "/nvidia/nccl/lib/libnccl.so.2"},
		{"VIRTUAL_ENV", dir + "/[v]", "[v]/lib/python3.9/site-packages/nvidia/cublas/lib/" + other, "[v]/" + site + "/nvidia/nccl/lib/libnccl.so.2"},
		{"", "", "[v]/" + site + "/nvidia/cu13/lib/" + other, ""},
		{"", "", "data/boost-tui/venv/" + site + "/nvidia/cu13/lib/" + lt, ""},
		{"", "", "build/cuda/" + site + "/nvidia/cu13/lib/" + other, "build/cuda/" + site + "/nvidia/nccl/lib/libnccl.so.2"},
		{"", "", "build/" + lt, "build/libnccl.so.2"},
		{EnvLibrary, dir + "/site/" + site + "/boost/" + LibraryName, "site/" + site + "/nvidia/cublas/lib/" + lt, "site/" + site + "/nvidia/nccl/lib/libnccl.so.2"},
		{"BOOST_CUBLASLT", dir + "/named.so", "named.so", ""},
		{"BOOST_NCCL", dir + "/named.so", "", "named.so"},
	} {
		if c.variable == EnvLibrary {
			put(t, filepath.Dir(c.value), "other") // the folder is there, the library is not
		}
		if c.variable != "" {
			t.Setenv(c.variable, c.value)
		}
		for what, file := range []string{c.file, c.nccl} {
			if file == "" {
				continue
			}
			file = put(t, dir, file)
			if f := Libraries()[what]; f.Value != file || f.Lacks != "" {
				t.Errorf("%s=%s: %+v, want %s", c.variable, c.value, f, file)
			}
		}
	}
}

// What is missing is told of both at once, with what to do.
func TestLibrariesThatAreMissing(t *testing.T) {
	emptied(t)
	for i, words := range [][]string{
		{"cuBLASLt", "libcublasLt.so.13 was not found; looked in ", "pip install nvidia-cublas", "$BOOST_CUBLASLT"},
		{"NCCL", "libnccl.so.2 was not found; looked in ", "pip install nvidia-nccl-cu13", "$BOOST_NCCL", "more than one rank"},
	} {
		f := Libraries()[i]
		if f.What != words[0] {
			t.Errorf("%+v", f)
		}
		if strings.HasPrefix(f.Value, "/usr/") {
			continue // a machine that has it
		}
		for _, w := range words[1:] {
			if !strings.Contains(f.Lacks, w) {
				t.Errorf("%q does not say %q", f.Lacks, w)
			}
		}
		if strings.HasPrefix(f.Lacks, f.What) { // whoever shows it says that before
			t.Errorf("said twice: %q", f.Lacks)
		}
	}
}

// scripts/cuda.sh, which looks for them too, says the same of what to do, and installs the wheels that are named.
func TestOneRemedyForALibrary(t *testing.T) {
	text, err := os.ReadFile("../../scripts/cuda.sh")
	if err != nil {
		t.Fatal(err)
	}
	emptied(t)
	for i, wheel := range []string{"nvidia-cublas", "nvidia-nccl-cu13"} {
		f := Libraries()[i]
		if f.Value == "" && !strings.Contains(f.Lacks, "Install it by pip install "+wheel+", or scripts/cuda.sh libraries, or name its path in $") {
			t.Errorf("%q", f.Lacks)
		}
		if s := string(text); !strings.Contains(s, wheel+"==") || !strings.Contains(s, wheel+" BOOST_") ||
			!strings.Contains(s, "Install it by pip install $4, or scripts/cuda.sh libraries, or name its path in ") {
			t.Errorf("scripts/cuda.sh says something else of %s", wheel)
		}
	}
}

// A file that others may change is no library, by the rule of backend.Trusted, whoever named it and wherever it was found.
func TestLibrariesThatOthersMayWrite(t *testing.T) {
	for name, c := range map[string]struct {
		path string
		mode os.FileMode
	}{
		"fine":               {"", 0},
		"the file":           {"a/b/lib.so", 0o666},
		"of the group":       {"a/b/lib.so", 0o664},
		"its folder":         {"a/b", 0o777},
		"its sticky folder":  {"a/b", 0o777 | os.ModeSticky},
		"above":              {"a", 0o777},
		"above, and sticky":  {"a", 0o777 | os.ModeSticky},
		"above, for a group": {"a", 0o770},
		"a link's folder":    {"links", 0o777},
		"a file that is not": {"gone", 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := emptied(t)
			file := put(t, dir, "a/b/lib.so")
			links := filepath.Dir(put(t, dir, "links/other"))
			if err := os.Symlink(file, filepath.Join(links, "lib.so")); err != nil {
				t.Fatal(err)
			}
			if c.mode != 0 {
				if err := os.Chmod(filepath.Join(dir, c.path), c.mode); err != nil {
					t.Fatal(err)
				}
			}
			if c.path == "gone" {
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			}
			for _, path := range []string{file, filepath.Join(links, "lib.so")} {
				t.Setenv("BOOST_CUBLASLT", path)
				f := Libraries()[0]
				want, err := backend.Trusted(path)
				if f.Value != want && err == nil || (f.Lacks == "") != (err == nil) {
					t.Errorf("%s: %+v; backend.Trusted: %s, %v", path, f, want, err)
				}
				if err != nil && !strings.HasPrefix(f.Lacks, "$BOOST_CUBLASLT: ") {
					t.Errorf("%q does not say who named it", f.Lacks)
				}
			}
			// A search passes over it, and says so when nothing better comes.
			if err := os.Symlink(file, filepath.Join(filepath.Dir(file), "libnccl.so.2")); err != nil {
				t.Skip(err)
			}
			t.Setenv("LD_LIBRARY_PATH", filepath.Dir(file))
			f := Libraries()[1]
			_, err := backend.Trusted(file)
			if bad := err != nil && !os.IsNotExist(err); (f.Value == file) == bad && c.path != "gone" {
				t.Errorf("searched: %+v; %v", f, err)
			} else if bad && f.Value == "" && !strings.Contains(f.Lacks, "may be written by others") {
				t.Errorf("searched: %q", f.Lacks)
			}
		})
	}
}

// A text is one line without control characters, whatever the environment holds.
func TestLinesOfOddPaths(t *testing.T) {
	emptied(t)
	for _, path := range []string{"/no\nwhere\x1b[31m.so", "no\nwhere", "/" + strings.Repeat("x/", 5000), os.TempDir()} {
		t.Setenv("BOOST_CUBLASLT", path)
		f := Libraries()[0]
		if f.Lacks == "" || strings.ContainsAny(f.Lacks, "\n\x1b") || len(f.Lacks) > 700 {
			t.Errorf("%q: %q", path, f.Lacks)
		}
	}
	t.Setenv("BOOST_CUBLASLT", "")
	t.Setenv("LD_LIBRARY_PATH", "/a\x1b\nb:"+strings.Repeat("/long/", 3000)+":"+strings.Repeat("/x:", 3000))
	for _, f := range Libraries() {
		if strings.ContainsAny(f.Lacks, "\n\x1b") || len(f.Lacks) > 700 {
			t.Errorf("%q", f.Lacks)
		}
	}
}
