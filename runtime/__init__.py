"""Basic services for all packages, independent of models, tasks and data.

Without torch: errors, files, options, commands, streams, progress. With torch: device, processes,
training. All other packages use this one.
"""
