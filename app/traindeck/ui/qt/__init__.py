"""Where Qt and Python meet: the loop, collecting garbage, a thread that stops answering."""
