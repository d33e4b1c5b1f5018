package main

import "github.com/spf13/cobra"

// commands are made in this order.
var commands = []func(*app) *cobra.Command{
	newPlan,
	newRuns,
	newShow,
	newLogs,
	newCancel,
	newTag,
	newRm,
	newVersion,
	newCompletion,
}
