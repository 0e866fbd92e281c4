"""Accounts, their keys, and the services behind them."""
