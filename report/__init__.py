"""What a run leaves behind: its folder, and the table it ends with."""
