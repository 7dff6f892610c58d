"""CUDA kernels: declare, compile with NVRTC, launch; GPU memory and work queues."""
