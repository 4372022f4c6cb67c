"""Where the data come from: what is published where, how it is fetched, where it lies.

sources -> transfer -> locate.
"""
