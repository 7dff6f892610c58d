"""The version of hapgpu, for the build, for headers of files, and for statistics."""

__version__ = "0.2.0"
