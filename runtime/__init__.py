"""What every part needs from the machine; nothing about models, tasks or data.

Standard library only: errors, files, disk, digests, options, commands, streams, interrupt. With
torch: device, seeds, processes, optimizer, epochs, resume, progress. Feeds everything else.
"""
