"""One encoder for several tasks, trained in place with a head per task, and what helps it along."""
