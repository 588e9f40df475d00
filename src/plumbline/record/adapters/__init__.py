"""Ways to reach a target; each module is one way."""
