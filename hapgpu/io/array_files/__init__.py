"""Files of named arrays with a checked header, as used for indexes."""
