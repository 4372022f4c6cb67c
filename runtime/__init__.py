"""What every part needs of the machine, and nothing of models, tasks or data.

Standard library only: errors, files, digests, options, interrupt. With torch: device, seeds,
processes, optimizer, epochs, resume, progress. Feeds everything else.
"""
