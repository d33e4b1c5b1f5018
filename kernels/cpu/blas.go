package cpu

/*
#cgo noescape bt_blas_open
#cgo nocallback bt_blas_open
#cgo noescape bt_blas_use
#cgo nocallback bt_blas_use
#include "api.h"
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	gonumblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"boost-tui/kernels"
	"boost-tui/kernels/backend"
)

// Gonum is the value of Options.BLAS that asks for no library at all.
const Gonum = "gonum"

// candidates are the CBLAS libraries that are looked for, best first.
var candidates = []string{"libopenblas.so.0", "libblis.so.4", "libmkl_rt.so", "libmkl_rt.so.2", "libcblas.so.3", "libblas.so.3"}

// blas is what computes products.
type blas struct {
	gonum, asked  bool // asked: gonum was chosen, not the last resort
	path, version string
	refused       []string // libraries that were found and not taken, with the reason
}

func (b blas) describe() []string {
	name := "gonum (no CBLAS library was found; products are slow)"
	switch {
	case b.asked:
		name = "gonum (as asked for; products are slow)"
	case len(b.refused) > 0:
		name = "gonum (no CBLAS library can be used; products are slow)"
	}
	if !b.gonum {
		name = fmt.Sprintf("%s (%s)", b.version, b.path)
	}
	out := []string{name}
	for _, r := range b.refused {
		out = append(out, "not used: "+r)
	}
	return out
}

// opened remembers the process's library: a loaded BLAS starts threads and is never unloaded, so it is opened once.
var opened struct {
	sync.Mutex
	byName map[string]blas
}

// openBLAS finds a library. A name that was asked for must be there; without one gonum is the last resort.
func openBLAS(name string) (blas, error) {
	if name == "" {
		name = os.Getenv("BOOST_BLAS")
	}
	if name == Gonum {
		return blas{gonum: true, asked: true}, nil
	}
	opened.Lock()
	defer opened.Unlock()
	if b, ok := opened.byName[name]; ok {
		return b, nil
	}
	b, err := findBLAS(name)
	if err != nil {
		return b, err
	}
	if opened.byName == nil {
		opened.byName = map[string]blas{}
	}
	opened.byName[name] = b
	return b, nil
}

func findBLAS(name string) (blas, error) {
	if err := roomForBLAS(); err != nil {
		if name != "" {
			return blas{}, fmt.Errorf("BLAS library %s: %w; for products in Go set BOOST_BLAS=%s", name, err, Gonum)
		}
		return blas{gonum: true, refused: []string{err.Error()}}, nil
	}
	if name != "" {
		if !filepath.IsAbs(name) {
			return blas{}, fmt.Errorf("BLAS library %q: give an absolute path, or %q", name, Gonum)
		}
		path, err := backend.Trusted(name)
		if err != nil {
			return blas{}, fmt.Errorf("BLAS library: %w", err)
		}
		return loadBLAS(path)
	}
	var refused []string
	for _, c := range candidates {
		b, err := loadBLAS(c)
		if err == nil {
			b.refused = refused
			return b, nil
		}
		if !strings.Contains(err.Error(), "cannot open shared object") {
			refused = append(refused, err.Error())
		}
	}
	return blas{gonum: true, refused: refused}, nil
}

// loadBLAS opens one library and, when it lies where others cannot write and answers rightly, makes it the process's.
func loadBLAS(name string) (blas, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	var info C.bt_blas_info
	var reason [512]C.char
	lib := C.bt_blas_open(text, &info, &reason[0], C.size_t(len(reason)))
	if lib == nil {
		return blas{}, fmt.Errorf("BLAS library %s: %s", name, C.GoString(&reason[0]))
	}
	path, err := backend.Trusted(C.GoString(&info.path[0]))
	if err == nil && C.bt_blas_use(lib, &reason[0], C.size_t(len(reason))) == 0 {
		err = fmt.Errorf("%s: %s", path, C.GoString(&reason[0]))
	}
	if err != nil {
		C.bt_blas_close(lib)
		return blas{}, fmt.Errorf("BLAS library: %w", err)
	}
	return blas{path: path, version: strings.TrimSpace(C.GoString(&info.version[0]))}, nil
}

// gonumGemm computes a product in Go, on as many threads as GOMAXPROCS allows.
func gonumGemm(e *kernels.Gemm) {
	m, n, k := e.Dims()
	if m == 0 || n == 0 {
		return
	}
	ta, tb := gonumblas.NoTrans, gonumblas.NoTrans
	if e.TransA {
		ta = gonumblas.Trans
	}
	if e.TransB {
		tb = gonumblas.Trans
	}
	for b := range int64(e.Count()) {
		d := backend.Floats(e.D, b*e.StrideD)
		if !e.C.IsZero() && e.Beta != 0 {
			c := backend.Floats(e.C, b*e.StrideC)
			for r := range m {
				copy(d[r*e.D.LD:r*e.D.LD+n], c[r*e.C.LD:r*e.C.LD+n])
			}
		}
		gonum.Implementation{}.Sgemm(ta, tb, m, n, k, e.Alpha,
			backend.Floats(e.A, b*e.StrideA), max(e.A.LD, e.A.Cols), backend.Floats(e.B, b*e.StrideB), max(e.B.LD, e.B.Cols), e.Beta, d, max(e.D.LD, e.D.Cols))
	}
}
