package runner

import (
	"boost-tui/experiment"
	"boost-tui/runner/slurm"
	"boost-tui/runner/userconfig"
)

// JobScript is the script of the job that a resolved experiment would be on Slurm, and the command that would submit it, with
// FOLDER and PROGRAM for what is known only then. It looks at the user's own configuration and asks nobody else. The memory that the
// job asks for follows from what is predicted; nil: it is left out.
func JobScript(e experiment.Experiment, predicted *Predicted) (script []byte, command []string, err error) {
	c := &slurmConductor{where: e.Where, client: &slurm.Client{}}
	if c.config, err = userconfig.Load(); err != nil {
		return nil, nil, err
	}
	if c.setup, err = c.config.Named(e.Where.Setup); err != nil {
		return nil, nil, err
	}
	s := c.submission(conductJob{Job: Job{Dir: "FOLDER", Binary: "PROGRAM"}, Run: Run{ID: "ID", Experiment: e, Predicted: predicted}}, "FOLDER/"+jobScriptFile)
	if err := s.Check(); err != nil {
		return nil, nil, err
	}
	return jobScript(c.config, c.setup), append([]string{"sbatch"}, s.Arguments()...), nil
}
