"""One module per subcommand: its options, the call of its method, its summary."""
