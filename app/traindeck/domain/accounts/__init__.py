"""Accounts and their keys."""
