"""May this commit be made?"""
