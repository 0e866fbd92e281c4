"""The signatures the Lab checks, each written from its rules."""
