"""The command `verify`: the verdicts, the reasons and the exit codes of `anchorctl verify`."""
