package main

import (
	"encoding/json"
	"fmt"
)

// printJSON writes the one JSON value of a command. Nothing else may write to stdout when --json is set.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write JSON to stdout: %w", err)
	}
	return nil
}

// print writes text for people to stdout.
func (a *app) print(format string, args ...any) error {
	if _, err := fmt.Fprintf(a.out, format, args...); err != nil {
		return fmt.Errorf("write to stdout: %w", err)
	}
	return nil
}
