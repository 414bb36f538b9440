"""Which of an engine's flags serve this workload best? A space, trials that are real starts, and a winner or none."""
