"""The window: docks, menus, palette, bars."""
