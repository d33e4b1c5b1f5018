// Package backend is the boundary between Go and device code that is not Go: boost_backend.h, a table of functions, and the
// Go device over any such table. The cpu device's table is compiled into the binary, the CUDA library's is opened at run time;
// both are driven by the same code here.
//
// Start reading at Open, then encode.go, which turns operations into what the header describes.
package backend

import _ "embed"

// HeaderName is the name that sources include Header by.
const HeaderName = "boost_backend.h"

// Header is the text of boost_backend.h.
//
//go:embed boost_backend.h
var Header string
