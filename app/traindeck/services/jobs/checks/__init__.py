"""What is found out about a job before it is sent: one small module for each thing that goes wrong."""
