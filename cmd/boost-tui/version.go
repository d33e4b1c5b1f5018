package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is what `version` prints.
type version struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of the source, where the build knew it
	Modified bool   `json:"modified,omitempty"` // the source differed from that revision
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func thisVersion() version {
	v := version{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if m := info.Main.Version; m != "" && m != "(devel)" {
		v.Version = m
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (v version) String() string {
	s := "boost-tui " + v.Version
	if v.Revision != "" {
		s += " (" + v.Revision[:min(12, len(v.Revision))]
		if v.Modified {
			s += ", modified"
		}
		s += ")"
	}
	return s + ", " + v.Go + ", " + v.Platform
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this program", GroupID: groupHouse, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return a.printJSON(thisVersion())
			}
			return a.print("%s\n", fmt.Sprint(thisVersion()))
		},
	}
}
