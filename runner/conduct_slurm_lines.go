package runner

import "strings"

// linesSay reports whether the user's own lines for sbatch give one of the options: what they say is not said again, since
// sbatch's command line would win over them.
func (c *slurmConductor) linesSay(options ...string) bool {
	for _, line := range c.config.Slurm.Lines {
		for field := range strings.FieldsSeq(strings.TrimPrefix(line, "#SBATCH")) {
			name, _, _ := strings.Cut(field, "=")
			for _, o := range options {
				if name == o || len(o) == 2 && strings.HasPrefix(field, o) && !strings.HasPrefix(field, "--") {
					return true
				}
			}
		}
	}
	return false
}
