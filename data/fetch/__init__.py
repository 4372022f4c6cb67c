"""Where the data comes from: what is published where, how it is downloaded, where it is kept.

sources -> transfer -> locate.
"""
