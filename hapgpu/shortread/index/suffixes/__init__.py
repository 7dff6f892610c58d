"""Suffix sorting: by first bases in buckets, then ties by the ranks of the suffixes that follow."""
