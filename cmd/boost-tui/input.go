package main

import (
	"errors"
	"fmt"
	"io"

	"boost-tui/internal/regular"
)

// maxConfigBytes bounds an experiment's or a sweep's file: a mistaken path to a data set must not be read whole.
const maxConfigBytes = 1 << 20

// readInput reads a small file of the user's, or stdin for -, and gives it the name that errors call it by.
func readInput(path string, in io.Reader) (data []byte, name string, err error) {
	return readAtMost(path, in, maxConfigBytes)
}

// readAtMost is readInput for files of another size.
func readAtMost(path string, in io.Reader, most int64) (data []byte, name string, err error) {
	if path == "-" && in != nil {
		data, err = regular.ReadAll(io.NopCloser(in), "stdin", most)
		return data, "stdin", err
	}
	file, err := regular.Follow(path)
	if errors.Is(err, regular.ErrNotRegular) {
		err = fmt.Errorf("%w; - reads from stdin", err)
	}
	if err != nil {
		return nil, "", err
	}
	data, err = regular.ReadAll(file, path, most)
	return data, path, err
}
