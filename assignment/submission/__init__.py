"""Files of predictions as courses collect them: written, checked, scored and ranked.

opening reads documents, dialects their rows, validate compares these with the data; score,
leaderboard and package stand on that.
"""
