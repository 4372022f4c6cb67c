"""The classroom kit: this project's code as an assignment, its checks, marks and submissions."""
