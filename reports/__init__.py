"""Reports: pure functions of the findings of a run."""
