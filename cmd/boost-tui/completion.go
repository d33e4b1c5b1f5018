package main

import (
	"github.com/spf13/cobra"
)

func newCompletion(a *app) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use: "completion SHELL", Short: "Print the completion script of a shell", GroupID: groupHouse,
		Long: `Print the script that completes commands, flags, values and run ids in a shell.

  bash        source <(boost-tui completion bash)
  zsh         boost-tui completion zsh > "${fpath[1]}/_boost-tui"
  fish        boost-tui completion fish > ~/.config/fish/completions/boost-tui.fish
  powershell  boost-tui completion powershell | Out-String | Invoke-Expression`,
		Args: cobra.ExactArgs(1), ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.json {
				return usagef("completion prints a script, which has no JSON form: leave out --json")
			}
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.out, true)
			case "zsh":
				return root.GenZshCompletion(a.out)
			case "fish":
				return root.GenFishCompletion(a.out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.out)
			}
			return usagef("there is no completion for %q; shells: bash, zsh, fish, powershell", args[0])
		},
	}
}
