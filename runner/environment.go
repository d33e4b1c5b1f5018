package runner

import (
	"slices"
	"strconv"
	"strings"
)

// passed are the variables that a rank inherits: where programs, libraries and temporary files are, the
// language, and what steers the libraries of devices. The rest of a login session is no business of a rank, so that
// two runs differ in their experiments alone.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "XDG_CACHE_HOME", "XDG_DATA_HOME", "VIRTUAL_ENV",
	"LD_LIBRARY_PATH", "GODEBUG", "GORACE", "GOTRACEBACK", "GOMEMLIMIT", "GOCOVERDIR",
}

// passedPrefixes are those of families of variables that a rank inherits. The libraries of products choose their
// kernels by theirs, and on some machines right results depend on it.
var passedPrefixes = []string{
	"BOOST_", "LC_", "CUDA_", "CUBLAS", "NVIDIA_", "NCCL_", "SLURM_", "OPENBLAS_", "GOTO_", "MKL_", "BLIS_", "OMP_", "KMP_", "GOMP_",
}

// threadCounts are the variables by which libraries learn their number of threads, where the user did not say one.
var threadCounts = []string{"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"}

// environment is a rank's, made from the agent's.
func environment(all []string, threads int) []string {
	var env []string
	said := map[string]bool{}
	for _, v := range all {
		name, _, _ := strings.Cut(v, "=")
		if slices.Contains(passed, name) || slices.ContainsFunc(passedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			env = append(env, v)
			said[name] = true
		}
	}
	for _, name := range threadCounts {
		if !said[name] {
			env = append(env, name+"="+strconv.Itoa(threads))
		}
	}
	return env
}
