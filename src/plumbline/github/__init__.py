"""How does a verdict reach a pull request?"""
