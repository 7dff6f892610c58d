"""Files of named arrays with a checked header: the container of an index."""
