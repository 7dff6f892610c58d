"""Runtime of all methods: devices, cache, compiler, threads, pipeline, progress, statistics."""
