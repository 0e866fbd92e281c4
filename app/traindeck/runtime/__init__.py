"""How work runs: asyncio tasks, worker threads, files of the platform; still no Qt."""
