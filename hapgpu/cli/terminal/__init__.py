"""What the process shares with its terminal: streams, signals, messages, progress, summary."""
