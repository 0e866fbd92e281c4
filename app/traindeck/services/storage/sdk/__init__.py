"""What a person does once in a while with buckets and objects, over the OBS SDK."""
