"""CUDA kernels: declaration, compilation with NVRTC, launch; GPU memory and work queues."""
