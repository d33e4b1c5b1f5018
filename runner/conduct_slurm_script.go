package runner

import (
	"maps"
	"slices"
	"strings"

	"boost-tui/runner/userconfig"
)

// The script of a job is fixed text, between it lines that the user has put into their own configuration. What it needs to know of
// the run comes as arguments.
const (
	scriptHead = `#!/bin/bash
# The job of a run of boost-tui. It prepares the node as the user's own configuration says and starts the program that looks
# after the run. To submit it again: sbatch [OPTIONS] job.sh FOLDER-OF-THE-RUN PROGRAM (job.json has the options).
`
	scriptSetup = `
boost_failed() {
	echo "` + setupFailed + ` with exit code $1 at: $2" >&2
	exit 1
}
trap 'boost_failed "$?" "$BASH_COMMAND"' ERR
`
	scriptTail = `
trap - ERR
cd /
if [ ! -d "$1" ]; then
	echo "the folder of the run, $1` + notThere + `$(hostname): runs of several machines need a folder of runs that all of them share (--runs, BOOST_RUNS)" >&2
	exit 1
fi
if [ ! -x "$2" ]; then
	echo "the program, $2` + notThere + `$(hostname), or may not be executed: start boost-tui from a folder that all nodes share" >&2
	exit 1
fi
BOOST_JOB_SECONDS=$SECONDS exec "$2" conduct --inside --run "$1" "${@:3}"
`
)

// EnvJobSeconds says to the program in a job how long the job has run before it.
const envJobSeconds = "BOOST_JOB_SECONDS"

// jobScript is the script of a job with the user's lines in it.
func jobScript(c userconfig.Config, setup userconfig.Setup) []byte {
	var b strings.Builder
	b.WriteString(scriptHead)
	for _, line := range c.Slurm.Lines { // sbatch looks for them before the first command
		b.WriteString(line + "\n")
	}
	b.WriteString(scriptSetup)
	for _, name := range slices.Sorted(maps.Keys(setup.Env)) {
		b.WriteString("export " + name + "=" + quoted(setup.Env[name]) + "\n")
	}
	for _, line := range setup.Lines {
		b.WriteString(line + "\n")
	}
	b.WriteString(scriptTail)
	return []byte(b.String())
}

// quoted is a value as a shell takes it for itself, whatever signs are in it.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
