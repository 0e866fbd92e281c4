"""Turns texts into bytes and back."""


def as_bytes(text, encoding="utf-8"):
    return text if isinstance(text, bytes) else text.encode(encoding)


def as_text(text, encoding="utf-8"):
    return text.decode(encoding) if isinstance(text, bytes) else text


as_str = as_text


def as_str_any(value):
    return as_text(value) if isinstance(value, bytes) else str(value)
