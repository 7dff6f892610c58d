"""BGZF: block tables and pieces of files, inflating and deflating by C libraries, writer."""
