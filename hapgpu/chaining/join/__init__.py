"""Long join: chains joined over long gaps."""
