"""Many targets in one run: surveyed side by side, judged in a pool of processes, reported one by one and together."""
