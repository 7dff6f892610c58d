"""The records of a whole file after the moves: moved reads, their mates, their supplementaries."""
