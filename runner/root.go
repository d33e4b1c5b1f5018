package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// DefaultRoot is the folder of the runs: the flag's value, else $BOOST_RUNS, else
// $SCRATCH/boost-tui/runs, else the user's data folder. It is absolute and need not exist.
func DefaultRoot(flag string) (string, error) {
	root, err := chooseRoot(flag)
	if err != nil {
		return "", err
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		return "", fmt.Errorf("runs folder %s: %w", root, err)
	}
	return abs, nil
}

func chooseRoot(flag string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	if r := os.Getenv("BOOST_RUNS"); r != "" {
		return r, nil
	}
	if s := os.Getenv("SCRATCH"); s != "" {
		return filepath.Join(s, "boost-tui", "runs"), nil
	}
	// The XDG specification: a relative value counts as unset.
	if x := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(x) {
		return filepath.Join(x, "boost-tui", "runs"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return "", errors.New("nowhere to keep runs: neither --runs, $BOOST_RUNS, $SCRATCH, $XDG_DATA_HOME nor $HOME is set; say --runs FOLDER")
	}
	return filepath.Join(home, ".local", "share", "boost-tui", "runs"), nil
}
