package main

import "github.com/spf13/cobra"

// commands are made in this order, which is also the order within a group of the help.
var commands = []func(*app) *cobra.Command{
	newVersion,
	newCompletion,
}
