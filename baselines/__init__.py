"""Methods that SimCSE is compared with: baselines without training, and other objectives."""
