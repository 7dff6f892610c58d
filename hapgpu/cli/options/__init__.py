"""Options that commands share, and checks of their files and regions."""
