"""All records of a file after the moves: moved reads, their mates, supplementary records."""
