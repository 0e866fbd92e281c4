"""The operations of the object store, as requests ask for them."""
