"""`traindeck obs`, a module for each verb."""
