"""Annotations of calls: depths and statistics of INFO and FORMAT."""
