"""What every part needs from the machine; nothing about models, tasks or data.

Without torch: errors, files, options, commands, streams, progress. With torch: device, processes,
training. Feeds everything else.
"""
