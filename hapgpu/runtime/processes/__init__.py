"""Workers of a pipeline in processes: forked from the run, fed through shared memory."""
