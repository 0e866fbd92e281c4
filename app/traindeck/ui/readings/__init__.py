"""Why a run failed, and its curves."""
