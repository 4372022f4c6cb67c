"""The classroom kit: this project's own code made into an assignment, its checks and its marks."""
