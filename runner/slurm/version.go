package slurm

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
)

// Version is Slurm's: the year and the month of a release. Zero is unknown, and counts as recent.
type Version struct{ Year, Month int }

// Before reports that the version is known and older.
func (v Version) Before(year, month int) bool {
	return v.Year > 0 && (v.Year < year || v.Year == year && v.Month < month)
}

// versionText is "slurm 18.08.8", "slurm-wlm 22.05.8", "slurm 23.11.0-0rc1".
var versionText = regexp.MustCompile(`(?:^|\s)(\d{2})\.(\d{2})(?:\.|\s|$|-)`)

// Version asks a tool for its version.
func (c *Client) Version(ctx context.Context) (Version, error) {
	out, _, err := c.query(ctx, "srun", "--version")
	if err != nil {
		return Version{}, err
	}
	return parseVersion(out), nil
}

func parseVersion(out string) Version {
	m := versionText.FindStringSubmatch(out)
	if m == nil {
		return Version{}
	}
	year, _ := strconv.Atoi(m[1])
	month, _ := strconv.Atoi(m[2])
	return Version{year, month}
}

// String is the version as releases are named; "unknown" where it is.
func (v Version) String() string {
	if v.Year == 0 {
		return "unknown"
	}
	return fmt.Sprintf("%02d.%02d", v.Year, v.Month)
}

// Tools says which of Slurm's tools this machine has, and which that are needed it lacks.
func (c *Client) Tools() (has, lacks []string) {
	for _, tool := range []string{"sbatch", "squeue", "scontrol", "scancel", "srun", "sacct"} {
		if _, err := c.lookup(tool); err == nil {
			has = append(has, tool)
		} else if tool != "sacct" {
			lacks = append(lacks, tool)
		}
	}
	return has, lacks
}
