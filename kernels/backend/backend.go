// Package backend is the boundary between Go and device code that is not Go: boost_backend.h, which the cpu device is compiled
// against and which the CUDA sources are embedded together with.
package backend

import _ "embed"

// HeaderName is the name that sources include Header by.
const HeaderName = "boost_backend.h"

// Header is the text of boost_backend.h.
//
//go:embed boost_backend.h
var Header string
