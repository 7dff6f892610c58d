"""The command line: `app` is the process, `command_line` its subcommands; `run`."""
