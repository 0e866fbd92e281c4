"""What goes wrong in scripts where a job runs: one small module for each subject."""
