"""What is wrong between this computer and an account's services, and the report of it."""
