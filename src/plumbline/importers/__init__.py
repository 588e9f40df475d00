"""Making a sealed bundle from what other tools have already recorded."""
