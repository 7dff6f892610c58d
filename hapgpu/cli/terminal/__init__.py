"""Standard streams, signals, messages, progress and summary of the process."""
