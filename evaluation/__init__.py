"""Metrics of predictions: functions of arrays or of an `encode` callable, nothing else."""
