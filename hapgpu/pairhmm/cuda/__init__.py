"""Batches in GPU memory, and the launch of the pair-HMM in pieces that fit."""
