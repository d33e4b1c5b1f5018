// Package house holds the tests of the project's own rules: which package may import which, where cgo and
// the terminal libraries may appear, how long a file may grow. It has no code of its own; start reading in
// imports_test.go.
package house
