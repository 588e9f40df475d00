"""How is a verdict written down?"""
