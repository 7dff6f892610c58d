"""The version of hapgpu, for the build, for headers of files, and for statistics."""

__version__ = "0.1.0"
