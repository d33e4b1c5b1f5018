package cuda

/*
#include "src/places.h"

static bool look(const bt_wanted *w, const char *const *own, bt_sought *out) { return bt_seek(w, NULL, own, NULL, NULL, out); }
*/
import "C"

import (
	"os"
	"path/filepath"
	"unsafe"
)

// What libboost_cuda.so calls the libraries that it opens, in its findings.
const (
	cuBLASLt = "cuBLASLt"
	nccl     = "NCCL"
)

// Libraries says where the libraries lie that libboost_cuda.so opens, or what is missing: for machines where it is not there to
// say so by itself. The rules are its own (src/places.h). Nothing is opened, so that a library that lies there may still be too
// old, or another machine's.
func Libraries() []Finding {
	folders := beside()
	own := unsafe.Slice((**C.char)(C.calloc(C.size_t(len(folders)+1), C.size_t(unsafe.Sizeof((*C.char)(nil))))), len(folders)+1)
	defer C.free(unsafe.Pointer(&own[0]))
	for i, f := range folders {
		own[i] = C.CString(f)
		defer C.free(unsafe.Pointer(own[i]))
	}
	list := []Finding{{What: cuBLASLt}, {What: nccl}}
	for i, wanted := range []*C.bt_wanted{C.bt_wanted_lt(), C.bt_wanted_nccl()} {
		var out C.bt_sought
		if C.look(wanted, &own[0], &out) {
			list[i].Value = C.GoString(&out.path[0])
		} else {
			list[i].Lacks = C.GoString(&out.why[0])
		}
	}
	if list[1].Lacks != "" {
		list[1].Lacks += " (for more than one rank)"
	}
	return list
}

// beside are the folders where libboost_cuda.so is, or would be: it looks there first.
func beside() []string {
	libraries := places()
	if path, err := Find(); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		libraries = []string{path}
	} else if named, err := filepath.Abs(os.Getenv(EnvLibrary)); err == nil && os.Getenv(EnvLibrary) != "" {
		libraries = []string{named}
	}
	var list []string
	for _, path := range libraries {
		if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil { // in a folder that is not there nothing is
			list = append(list, dir)
		}
	}
	return list
}
