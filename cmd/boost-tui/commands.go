package main

import "github.com/spf13/cobra"

// commands are made in this order.
var commands = []func(*app) *cobra.Command{
	newDemo,
	newRun,
	newSweep,
	newPreflight,
	newPlan,
	newCompare,
	newRuns,
	newShow,
	newLogs,
	newAttach,
	newExport,
	newCancel,
	newTag,
	newArchive,
	newRm,
	newVerify,
	newDoctor,
	newVersion,
	newCompletion,
	newAgent,
	newConduct,
	newRemote,
	newRank,
	newSweeper,
	newBenchDevice,
}
