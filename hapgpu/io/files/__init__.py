"""Files of any kind: sources, outputs, compression, state, kind."""
