"""Options shared by commands, and checks of what they name."""
