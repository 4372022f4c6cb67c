"""The classroom kit: what an instructor hands out, checks and grades, and what students submit."""
