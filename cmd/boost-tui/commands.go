package main

import "github.com/spf13/cobra"

// commands are made in this order.
var commands = []func(*app) *cobra.Command{
	newRuns,
	newShow,
	newLogs,
	newTag,
	newRm,
	newVersion,
	newCompletion,
}
