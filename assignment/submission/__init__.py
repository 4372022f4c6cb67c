"""Files of predictions as courses collect them: written, checked, scored and ranked.

opening reads documents -> dialects their rows -> checking compares them with the data; package,
validate, score and leaderboard are the four commands on top.
"""
