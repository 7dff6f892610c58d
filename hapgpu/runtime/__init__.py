"""What every method runs on: devices, cache, compiler, threads, pipeline, progress, statistics."""
