"""A module per subcommand: options in, method called, summary out."""
