"""The operations of ModelArts and IAM, as requests ask for them."""
