"""Scripts of users: what they read, what is wrong with them, how they are changed; nothing of runs, accounts or OBS."""
