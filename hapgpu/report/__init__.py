"""Pages of `hapgpu report`: a section per file, one self-contained HTML file."""
