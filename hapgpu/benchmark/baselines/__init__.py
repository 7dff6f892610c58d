"""Published methods that hapgpu is compared with; no command uses them."""
