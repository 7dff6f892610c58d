"""Search on a GPU, with the hits of `hapgpu/shortread/search/cpu.py`, bit for bit."""
